"""refloatctl for tests: run against a served API, and against a real host."""

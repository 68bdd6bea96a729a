"""Both ends of the link, for tests."""

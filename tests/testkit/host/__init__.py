"""A host without its plugin: the store and the services on it, for tests that look at nothing else."""

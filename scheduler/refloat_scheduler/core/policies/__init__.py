"""Retry policies: from a stored document to what the engine runs, and the cache that serves them."""

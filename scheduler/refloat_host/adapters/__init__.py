"""The host's outside: the database."""

"""The management API, as a client: one module per service."""

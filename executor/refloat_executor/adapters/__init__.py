"""The executor's outside: the Kubernetes API and the journal."""

"""The command refloatctl: manages policies, queues and jobs of a running host."""

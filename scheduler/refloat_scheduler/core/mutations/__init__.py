"""What a retry may change in a job: more memory, other nodes; recorded once, applied whenever a lease is rendered."""

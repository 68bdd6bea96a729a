"""What is asked of the store and written to it, one module per subject; all of it inside a caller's transaction."""

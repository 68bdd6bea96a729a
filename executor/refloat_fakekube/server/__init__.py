"""The fake API server on a socket: reads HTTP, asks the store, writes answers and watch streams."""

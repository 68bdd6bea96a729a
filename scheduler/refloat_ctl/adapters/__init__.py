"""Files and the server."""

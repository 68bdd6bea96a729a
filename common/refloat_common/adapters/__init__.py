"""Adapters shared by both sides: sockets, files, logs, the clock."""

"""Texts: YAML as Go's library reads and writes it, JSON as Go prints it, tables."""

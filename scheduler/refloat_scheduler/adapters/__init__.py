"""The plugin's outside: metrics and keys."""

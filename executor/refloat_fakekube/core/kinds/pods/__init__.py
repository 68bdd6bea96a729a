"""Pods: defaults, quality of service, validation, updates, deletion with grace."""

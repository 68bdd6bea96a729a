"""Kubernetes messages for the tests of their translation."""

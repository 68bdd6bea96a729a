"""Kubelets, a scheduler and controllers as ordinary API clients: they know nothing but the public API."""

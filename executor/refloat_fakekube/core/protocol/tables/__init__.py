"""Objects as tables for printing (`meta.k8s.io/v1` Table): what `kubectl get` shows."""

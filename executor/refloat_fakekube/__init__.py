"""A Kubernetes API server for pods, nodes, events and leases, and kubelets that are ordinary API clients."""

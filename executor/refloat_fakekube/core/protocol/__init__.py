"""HTTP as the Kubernetes API uses it, without sockets: paths, parameters, bodies, discovery, tables."""

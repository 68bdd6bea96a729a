"""The fake API server's storage rules and the kubelets' scripts, without I/O."""

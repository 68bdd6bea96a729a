"""What a kubelet does with a pod, without a node: scripts, container states, pod status, events; and scheduling."""

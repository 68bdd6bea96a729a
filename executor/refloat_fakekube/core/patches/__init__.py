"""The four patch forms of the Kubernetes API: JSON, merge, strategic merge, and apply."""

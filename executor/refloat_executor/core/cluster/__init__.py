"""What the Kubernetes API says and what is kept of it: answers, decoding, list-and-watch, stores, manifests."""

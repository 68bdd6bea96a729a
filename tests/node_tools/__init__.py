"""What is run on a real node by hand: `make node-demo`, `make node-latency`."""

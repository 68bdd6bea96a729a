"""The product as it is run: host and executors as processes, on an API server that is not theirs."""

"""The management API: gRPC with Armada's services and messages, so that Armada's clients work unchanged."""

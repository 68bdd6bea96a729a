"""The host's decisions: which queued job goes to which executor."""

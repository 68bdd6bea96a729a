"""Translates Armada's messages to and from the host's own values: pure functions that ask and store nothing."""

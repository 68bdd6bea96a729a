"""Executors falling silent and coming back: who may lease, whose runs expire, which epoch holds."""

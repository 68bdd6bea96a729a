"""Kinds about retry policies: the engine, the scheduler's failure paths, growth, policies, the scheduler's file."""

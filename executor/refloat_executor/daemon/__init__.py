"""The daemon: tasks that carry the brain's effects out, and the root that puts them together."""

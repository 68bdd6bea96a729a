"""The style of the tree as functions: each gives findings, one line each, and every finding names its rule."""

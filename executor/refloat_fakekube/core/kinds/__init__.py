"""What is special about each kind of object: defaults, validation, what an update may touch, how deletion goes."""

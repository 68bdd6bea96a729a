"""One module for each kind of vector; each has a `KIND`."""

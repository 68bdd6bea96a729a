"""Questions that Armada's code has answered, put to Refloat."""

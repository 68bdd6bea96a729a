"""Pure parts shared by both sides: no I/O, no clock, no randomness."""

"""Stories that the whole product lives through in virtual time; each can be run by itself and prints its hash."""

"""The command `refloat`; every subcommand imports its part when it is called."""

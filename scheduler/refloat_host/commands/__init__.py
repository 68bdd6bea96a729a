"""The subcommands of `refloat host`."""

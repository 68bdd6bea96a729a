"""The subcommands of `refloat executor`."""

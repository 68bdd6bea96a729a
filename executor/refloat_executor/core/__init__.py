"""The executor's decisions, as pure functions over frozen values."""

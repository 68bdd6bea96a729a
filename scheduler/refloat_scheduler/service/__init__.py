"""The plugin as a running thing: its contract with a host, and the tasks that carry the core's decisions out."""

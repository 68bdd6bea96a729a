"""The host as a daemon: the store, the services, the plugin and the leasing loop, put together and run."""

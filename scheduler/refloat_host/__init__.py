"""The standalone host: store, queues, leasing; loads the plugin as any host would."""

"""What files for the command line hold: retry policies, queues and job sets."""

"""Who runs next, and where: the loop that leases queued jobs to executors with room."""

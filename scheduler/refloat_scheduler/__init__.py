"""The scheduler plugin: decides on retries, notices lost executors."""

"""Jobs, runs, reports and a store in memory, for tests of the scheduler's core."""

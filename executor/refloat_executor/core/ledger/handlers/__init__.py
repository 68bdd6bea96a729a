"""The ledger's handlers, by the part of a run's life: starting, running, removing its pod, ended."""

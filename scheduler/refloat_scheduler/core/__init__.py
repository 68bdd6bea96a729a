"""The scheduler's decisions: retry engine, mutations, leases, reconcile."""

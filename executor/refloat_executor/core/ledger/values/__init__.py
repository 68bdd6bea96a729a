"""The ledger's values: what is journaled, what is known of a run, what can happen to it, what is wanted done."""

"""`refloat demo`: the whole system as separate processes, jobs that fail by script, a count of what happened."""

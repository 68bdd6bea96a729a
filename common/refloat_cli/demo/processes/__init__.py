"""The demo's processes: started, watched, killed, and never left behind."""

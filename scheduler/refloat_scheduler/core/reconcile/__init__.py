"""What news from executors does to jobs: reports applied once and in order, fenced runs mute, effects as values."""

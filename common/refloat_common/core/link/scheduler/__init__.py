"""The parts of the scheduler's end of the link; `scheduler_side` is its front."""

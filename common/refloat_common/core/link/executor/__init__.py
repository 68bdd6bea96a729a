"""The parts of the executor's end of the link; `executor_side` is its front."""

"""An executor of the product for tests: on a fake cluster or none, talking to a scheduler that a test plays."""

"""What a scheduler and controllers decide: where a pod goes, when it is driven away, when a node is lost."""

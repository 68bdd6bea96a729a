"""What both sides of Refloat share: the wire, the categorizer, quantities, settings helpers."""

"""What may be asked of the host: checked first, then carried out in one transaction. The management API calls these."""

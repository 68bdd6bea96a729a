"""The rules of each verb, on one turn of the store."""

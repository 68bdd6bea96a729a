"""Alembic's scripts, found as package data so that an installed wheel migrates its own store."""

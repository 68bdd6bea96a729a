"""The host's durable store: SQLite, or PostgreSQL with the same schema, through SQLAlchemy Core."""

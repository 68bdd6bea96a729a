"""Brings the schema of a store up to this version, by Alembic's scripts in `adapters/migrations`."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from refloat_host.adapters.store.errors import StoreForeignError, StoreTooNewError
from refloat_host.adapters.store.tables import metadata

SCRIPTS = Path(__file__).parent.parent / "migrations"
_ONE_AT_A_TIME = 7249810365
"""Key of the PostgreSQL advisory lock under which a schema is changed; any number that others don't use."""


def migrate(connection: Connection, to: str = "head") -> None:
    """Upgrade the schema inside the caller's transaction; nothing happens if it is current.

    Raises:
        StoreTooNewError: a later version has written this store.
        StoreForeignError: the database belongs to something else.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ONE_AT_A_TIME})
    found = MigrationContext.configure(connection).get_current_revision()
    if found is None and (tables := tuple(sorted(inspect(connection).get_table_names()))):
        raise StoreForeignError(tables)
    if found == head():
        return
    if found is not None and found not in revisions():
        raise StoreTooNewError(found, head())
    config = _config()
    config.attributes["connection"] = connection
    config.attributes["metadata"] = metadata
    command.upgrade(config, to)


def create(connection: Connection) -> None:
    """Make the current schema at once in an empty database, without walking through its history."""
    metadata.create_all(connection)
    MigrationContext.configure(connection).stamp(ScriptDirectory.from_config(_config()), "head")


@cache
def head() -> str:
    """The revision that this version writes."""
    return ScriptDirectory.from_config(_config()).get_heads()[0]


@cache
def revisions() -> tuple[str, ...]:
    """Every revision that this version knows, oldest first."""
    walk = ScriptDirectory.from_config(_config()).walk_revisions()
    return tuple(reversed([script.revision for script in walk]))


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.set_main_option("path_separator", "os")
    return config

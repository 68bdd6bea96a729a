"""The schema: every version comes up to the newest, a newer one is refused, and both roads lead to one schema."""

from pathlib import Path

import pytest
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from refloat_host.adapters.store.errors import StoreForeignError, StoreLockedError, StoreTooNewError, StoreUrlError
from refloat_host.adapters.store.migrate import create, head, migrate, revisions
from refloat_host.adapters.store.opening import open_store
from refloat_host.adapters.store.tables import metadata
from testkit.host.stores import sqlite_url, take_over


def schema(connection: Connection) -> dict[str, list[str]]:
    """Everything that a database says of its tables, as text."""
    found = inspect(connection)
    described: dict[str, list[str]] = {}
    for table in found.get_table_names():
        lines = [f"{c['name']} {c['type']!r} {c['nullable']} {c.get('default')}" for c in found.get_columns(table)]
        lines.append(str(found.get_pk_constraint(table)))
        for index in found.get_indexes(table):
            where = {key: str(value) for key, value in index.get("dialect_options", {}).items()}
            lines.append(f"{index['name']} {index['column_names']} {index['unique']} {where}")
        lines += sorted(map(str, found.get_foreign_keys(table))) + sorted(map(str, found.get_check_constraints(table)))
        described[table] = lines
    return described


@pytest.mark.parametrize("revision", ["base", *revisions()])
def test_every_version_comes_up_to_the_newest(store_url: str, revision: str) -> None:
    opened = open_store(store_url)
    with opened.writer.begin() as connection:
        if revision != "base":
            migrate(connection, to=revision)
        migrate(connection)
    with opened.writer.begin() as connection:
        assert set(metadata.tables) < set(inspect(connection).get_table_names())
        assert MigrationContext.configure(connection).get_current_revision() == head()
        migrate(connection)
    opened.close()


def test_the_migrations_make_the_tables_that_the_code_knows(two_store_urls: tuple[str, str]) -> None:
    migrated, made = (open_store(url) for url in two_store_urls)
    with migrated.writer.begin() as one, made.writer.begin() as other:
        migrate(one)
        create(other)
        assert schema(one) == schema(other)
        assert MigrationContext.configure(other).get_current_revision() == head()
    migrated.close()
    made.close()


def test_a_newer_schema_is_refused_and_left_alone(store_url: str) -> None:
    opened = open_store(store_url)
    with opened.writer.begin() as connection:
        migrate(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreTooNewError, match=r"schema 9999.*none later than"):
        take_over(opened)
    opened.close()


def test_a_foreign_database_is_refused(store_url: str) -> None:
    opened = open_store(store_url)
    with opened.writer.begin() as connection:
        connection.execute(text("CREATE TABLE customers (name TEXT)"))
    with pytest.raises(StoreForeignError, match="customers"):
        take_over(opened)
    opened.close()


def test_a_migration_that_fails_leaves_the_old_schema(store_url: str) -> None:
    opened = open_store(store_url)

    def failing(connection: Connection, to: str) -> None:
        migrate(connection, to)
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"), opened.writer.begin() as connection:
        failing(connection, "head")
    with opened.writer.begin() as connection:
        assert inspect(connection).get_table_names() == []
    opened.close()


def test_a_second_host_on_one_file_is_refused(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path)
    first = open_store(url)
    with pytest.raises(StoreLockedError, match=r"store\.db\.lock"):
        open_store(url)
    first.close()
    open_store(url).close()


@pytest.mark.parametrize("url", ["", "mysql://h/x", "sqlite://", "sqlite:///:memory:", "no url at all"])
def test_other_stores_are_refused_by_name(url: str) -> None:
    with pytest.raises(StoreUrlError, match=r"store\.url: "):
        open_store(url)


def test_an_address_that_makes_no_sense_is_shown_without_its_password() -> None:
    with pytest.raises(StoreUrlError, match=r"store\.url: 'postgresql://u:\*\*\*@h:port/x' is neither"):
        open_store("postgresql://u:hidden@h:port/x")


def test_the_folder_of_a_new_store_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    open_store(sqlite_url(tmp_path / "var" / "lib")).close()
    assert (tmp_path / "var" / "lib").stat().st_mode & 0o777 == 0o700


def test_the_file_is_synced_at_every_commit(tmp_path: Path) -> None:
    opened = open_store(sqlite_url(tmp_path))
    with opened.writer.connect() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}
    opened.close()


def test_nobody_else_may_read_a_new_file(tmp_path: Path) -> None:
    opened = open_store(sqlite_url(tmp_path))
    with opened.writer.begin() as connection:
        migrate(connection)
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    opened.close()
    names = ("store.db", "store.db-shm", "store.db-wal", "store.db.lock")
    assert modes == dict.fromkeys(names, 0o600)

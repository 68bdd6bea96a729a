"""The stores that a test of the host runs on: SQLite in memory, SQLite in a file, PostgreSQL."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.opening import Opened, open_memory, open_store

NODE_ID_LABEL = "kubernetes.io/hostname"


def take_over(opened: Opened, *, generation: str = "generation-1", now_ms: int = 1) -> Database:
    """Become the leader of a store as a host would, with the migrations."""
    return Database.take_over(opened, generation=generation, now_ms=now_ms, node_id_label=NODE_ID_LABEL)


@contextmanager
def memory_database() -> Iterator[Database]:
    """A fresh store in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    opened = open_memory(connection)
    yield Database.take_over(opened, generation="generation-1", now_ms=1, node_id_label=NODE_ID_LABEL, fresh=True)
    opened.close()
    connection.close()


@contextmanager
def url_database(url: str) -> Iterator[Database]:
    """The store at a URL."""
    database = take_over(open_store(url))
    yield database
    database.close()


def sqlite_url(folder: Path, name: str = "store.db") -> str:
    """The URL of a store in a folder."""
    return f"sqlite:///{folder / name}"

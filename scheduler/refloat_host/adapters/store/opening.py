"""Opens the database: which driver, which pragmas, and the lock that keeps a second host out of a SQLite file."""

import fcntl
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from refloat_host.adapters.store.errors import StoreLockedError, StoreUrlError

BUSY_TIMEOUT_MS = 5000
"""How long SQLite waits for another connection's lock; ours are short, so waiting longer means a foreign writer."""

READERS = 2
"""Connections for reading beside the writer's; a reader never waits for a writer in WAL."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The engines of one store; `close` gives the lock back."""

    writer: Engine
    reader: Engine
    close: Callable[[], None]


def open_store(url: str) -> Opened:
    """Open a store by its URL; a SQLite file that does not exist is made, and its folder.

    Raises:
        StoreUrlError: neither SQLite on a file nor PostgreSQL.
        StoreLockedError: another host has the file.
    """
    parsed = read_url(url)
    if parsed.database is not None and parsed.get_backend_name() == "sqlite":
        return _open_sqlite(Path(parsed.database))
    return _open_postgres(parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False))


def read_url(url: str) -> URL:
    """The parts of a store's URL.

    Raises:
        StoreUrlError: neither SQLite on a file nor PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The second for a port that is no number.
        raise StoreUrlError(url) from None
    backend = parsed.get_backend_name()
    if backend == "postgresql" or (backend == "sqlite" and parsed.database not in (None, "", ":memory:")):
        return parsed
    raise StoreUrlError(url)


def open_memory(connection: sqlite3.Connection) -> Opened:
    """Use one SQLite connection that the caller owns, for everything: the simulator's disk.

    The connection must have been made with `isolation_level=None` and outlives what is opened here.
    """
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    connection.execute("PRAGMA foreign_keys = ON")
    event.listen(engine, "begin", lambda bound: bound.exec_driver_sql("BEGIN IMMEDIATE"))
    return Opened(writer=engine, reader=engine, close=lambda: None)


def _open_sqlite(path: Path) -> Opened:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = _lock(path.with_name(path.name + ".lock"))
    # Pod specs and messages are the users': nobody else may read them. SQLite's other files take over these rights.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    writer = create_engine(f"sqlite:///{path}", pool_size=1, max_overflow=0)
    reader = create_engine(f"sqlite:///{path}", pool_size=READERS, max_overflow=0)
    event.listen(writer, "connect", _prepare_writer)
    event.listen(reader, "connect", _prepare_reader)
    event.listen(writer, "begin", lambda bound: bound.exec_driver_sql("BEGIN IMMEDIATE"))
    event.listen(reader, "begin", lambda bound: bound.exec_driver_sql("BEGIN"))

    def close() -> None:
        reader.dispose()
        writer.dispose()
        os.close(lock)

    return Opened(writer, reader, close)


def _open_postgres(url: str) -> Opened:
    writer = create_engine(url, pool_size=1, max_overflow=0, pool_pre_ping=True)
    reader = create_engine(
        url,
        pool_size=READERS,
        max_overflow=0,
        pool_pre_ping=True,
        execution_options={"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
    )

    def close() -> None:
        reader.dispose()
        writer.dispose()

    return Opened(writer, reader, close)


def _lock(path: Path) -> int:
    """Hold the lock for as long as the process lives; the kernel lets go of it with the process, however it ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StoreLockedError(path) from None
    return descriptor


def _prepare_writer(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    """WAL, and a sync at every commit: what was acknowledged must survive a power cut (invariant S12)."""
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _prepare_reader(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA query_only = ON")

"""A store of each kind for the host's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from refloat_host.adapters.store.database import Database
from testkit.host.bench import Bench
from testkit.host.postgres import PostgresServer, postgres_server
from testkit.host.stores import memory_database, sqlite_url, url_database


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The URL of an empty PostgreSQL database."""
    return postgres.new_database()


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store that outlives a process."""
    if request.param == "file":
        return sqlite_url(tmp_path)
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.postgres)])
def two_store_urls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """The URLs of two empty stores of one kind."""
    if request.param == "file":
        return sqlite_url(tmp_path), sqlite_url(tmp_path, "other.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database(), server.new_database()


@pytest.fixture(params=["memory", "file", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty store."""
    if request.param == "memory":
        with memory_database() as database:
            yield database
        return
    server: PostgresServer | None = request.getfixturevalue("postgres") if request.param == "postgres" else None
    with url_database(server.new_database() if server else sqlite_url(tmp_path)) as database:
        yield database


@pytest.fixture
def bench(database: Database) -> Bench:
    """The services on an empty store."""
    return Bench(database)

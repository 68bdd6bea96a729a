"""A private PostgreSQL server for a test session, with a database of its own for each test.

The server's programs are Debian's; it runs as a user without rights when the tests run as root, which PostgreSQL
refuses to be. It listens on a socket in a temporary folder only.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import psycopg


@dataclass(slots=True)
class PostgresServer:
    """A running server."""

    socket: Path
    _numbers: "count[int]" = field(default_factory=count)

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"t{next(self._numbers)}"
        with psycopg.connect(f"host={self.socket} user=refloat dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"postgresql://refloat@/{name}?host={self.socket}"


def programs() -> Path | None:
    """Where the server's programs are; None if there are none."""
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if newest:
        return newest[-1].parent
    found = shutil.which("postgres")
    return Path(found).parent if found else None


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server, and stop it at the end. Commits are durable, as in earnest, but for the cost of one fsync."""
    bin_folder = programs()
    assert bin_folder is not None
    user = _user()
    folder = Path(mkdtemp(prefix="refloat-pg-", dir="/tmp"))
    data = folder / "data"
    try:
        if user is not None:
            shutil.chown(folder, user, pwd.getpwnam(user).pw_gid)
        _run(user, bin_folder / "initdb", "-D", data, "-U", "refloat", "-A", "trust", "-N", "--locale=C", "-E", "UTF8")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c max_connections=20"
        _run(user, bin_folder / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield PostgresServer(folder)
        finally:
            _run(user, bin_folder / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str | None:
    """Whom the server runs as; None for ourselves."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(user: str | None, *command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True, user=user, cwd="/", timeout=60)

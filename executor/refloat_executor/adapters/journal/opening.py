"""Opens the journal's file: checks where it lies, whether it is whole, and that nobody else has it.

A damaged file is never repaired and never trusted in part: it is set aside with the suffix `.corrupt`, a new journal
with a new id begins, and the daemon finds its pods again in the cluster.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from refloat_executor.adapters.journal.filesystem import file_system_of
from refloat_executor.adapters.journal.problems import (
    JournalDamagedError,
    JournalInUseError,
    JournalTooNewError,
    NetworkFileSystemError,
    translated,
)
from refloat_executor.adapters.journal.sql import SCHEMA_VERSION, Loaded, SqlJournal

_SIDE_FILES = ("", "-wal", "-shm")
_NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2",
    "gfs2", "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.rclone", "fuse.gcsfuse",
})  # fmt: skip


class OpenJournal:
    """An open journal file. `set_aside_as` names the damaged one that it replaces, if there was one."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, sql: SqlJournal, loaded: Loaded, set_aside_as: Path | None
    ) -> None:
        self.path = path
        self.sql = sql
        self.loaded = loaded
        self.set_aside_as = set_aside_as
        self._connection = connection

    def set_aside(self) -> None:
        """Close the file and move it away."""
        self.close()
        _move_away(self.path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def open_journal(path: Path, new_id: Callable[[], str]) -> OpenJournal:
    """Open the journal, or begin a new one.

    Args:
        path: The file; its folder is made if it is missing.
        new_id: Gives the id of a new journal.

    Raises:
        NetworkFileSystemError: it would not be on a local disk.
        JournalInUseError: another process has it open.
        JournalTooNewError: a newer version wrote it.
        JournalBrokenError: it can't be read or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = file_system_of(path.parent)
    if kind in _NETWORK:
        raise NetworkFileSystemError(path, kind)
    try:
        return _open(path, new_id(), None)
    except JournalDamagedError:
        moved = _move_away(path)
        return _open(path, new_id(), moved)


def _open(path: Path, new_id: str, moved: Path | None) -> OpenJournal:
    connection = _connect(path)
    try:
        _take(connection, path)
        sql = SqlJournal(connection)
        _check(connection, sql, path)
        return OpenJournal(path, connection, sql, sql.load(new_id), moved)
    except sqlite3.Error as error:
        connection.close()
        raise translated(error) from error
    except BaseException:
        connection.close()
        raise


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise translated(error) from error


def _take(connection: sqlite3.Connection, path: Path) -> None:
    """Lock the file for this process alone, and make every commit reach the disk."""
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise JournalInUseError(path) from None
        raise


def _check(connection: sqlite3.Connection, sql: SqlJournal, path: Path) -> None:
    schema = sql.schema_version()
    if schema > SCHEMA_VERSION:
        raise JournalTooNewError(path, schema, SCHEMA_VERSION)
    findings = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
    if findings != ["ok"]:
        raise JournalDamagedError("; ".join(findings))


def _move_away(path: Path) -> Path:
    """Give the file a name that is free; what belongs to it goes with it."""
    number = 0
    while True:
        name = f"{path.name}.corrupt{f'.{number}' if number else ''}"
        target = path.with_name(name)
        if not target.exists():
            break
        number += 1
    for suffix in _SIDE_FILES:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(path.with_name(name + suffix))
    return target

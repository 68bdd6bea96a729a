"""Names what can be wrong with a journal, and translates SQLite's errors once."""

import sqlite3
from pathlib import Path

_PRIMARY_CODE = 0xFF


class JournalFullError(Exception):
    """There is no room: nothing of the batch was written, and the same batch may be tried again."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the journal can't grow: {reason}")


class JournalBrokenError(Exception):
    """The disk failed. What was written last may be lost, so the process must end; a sync must not be tried twice."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the journal can't be written: {reason}")


class JournalDamagedError(Exception):
    """What the file holds is not what was written to it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the journal is damaged: {reason}")


class JournalInUseError(Exception):
    """Another process has the journal open."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"the journal {path} is in use by another process")


class JournalTooNewError(Exception):
    """A newer version of the program wrote this journal."""

    def __init__(self, path: Path, schema: int, known: int) -> None:
        super().__init__(
            f"the journal {path} has layout {schema}, and this version knows {known} at most: "
            "start the version that wrote it, or move the file away to begin a new one"
        )


class NetworkFileSystemError(Exception):
    """Locks and syncs are not to be relied on there."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(f"the journal {path} would be on a network file system ({kind}): a local disk is needed")


def translated(error: sqlite3.Error) -> Exception:
    """What an error of SQLite means for the journal."""
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & _PRIMARY_CODE
    if code == sqlite3.SQLITE_FULL:
        return JournalFullError(str(error))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "decode" in str(error):
        # The last is Python's own: a column holds text that is none.
        return JournalDamagedError(str(error))
    return JournalBrokenError(f"{type(error).__name__}: {error}")

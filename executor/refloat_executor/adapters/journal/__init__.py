"""The executor's journal in SQLite: SQL on a connection, the thread that owns one, and what is checked before."""

from refloat_executor.adapters.journal.inline import InlineJournal
from refloat_executor.adapters.journal.opening import open_journal
from refloat_executor.adapters.journal.problems import (
    JournalBrokenError,
    JournalFullError,
    JournalInUseError,
    JournalTooNewError,
    NetworkFileSystemError,
)
from refloat_executor.adapters.journal.threaded import ThreadedJournal

__all__ = [
    "InlineJournal",
    "JournalBrokenError",
    "JournalFullError",
    "JournalInUseError",
    "JournalTooNewError",
    "NetworkFileSystemError",
    "ThreadedJournal",
    "open_journal",
]

"""The journal on a connection, done at once on the event loop: for a simulator, whose disk is in memory."""

import sqlite3
from collections.abc import Sequence

from refloat_common.core.messages import Report
from refloat_executor.adapters.journal.sql import Loaded, SqlJournal
from refloat_executor.core.ledger.values.records import Record


class InlineJournal:
    """The same operations as `ThreadedJournal`, without its thread.

    The caller owns the connection, and decides what becomes of what was not committed when a process dies.
    """

    def __init__(self, connection: sqlite3.Connection, new_id: str) -> None:
        self._sql = SqlJournal(connection)
        self.loaded: Loaded = self._sql.load(new_id)

    async def append(self, records: Sequence[Record], at_ms: int) -> None:
        """Write and sync these records."""
        self._sql.append(records, at_ms)

    async def reports(self, first_seq: int, max_count: int, max_bytes: int) -> list[Report]:
        """Reports from `first_seq` on, without a gap."""
        return self._sql.reports(first_seq, max_count, max_bytes)

    async def prune(self, keep_from_ms: int, keep_bytes: int, acked_seq: int) -> None:
        """Drop what no start needs."""
        self._sql.prune(keep_from_ms, keep_bytes, acked_seq)

    async def sizes(self) -> tuple[int, int]:
        """Bytes in use, and the oldest sequence that is kept."""
        return self._sql.used_bytes(), self._sql.oldest_seq()

    async def set_aside(self) -> None:
        """Nothing to move: the caller drops the connection."""

    async def close(self) -> None:
        """The caller closes the connection."""

"""The journal's SQL, on a connection that somebody else opened and owns. Knows no thread and no event loop.

One table holds all records in one order. A record that was not committed is as if it had never been written. Beside
SQLite's own check of its pages, each row carries a CRC of its body, because `quick_check` reads no content.
"""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refloat_common.core.messages import Report
from refloat_executor.adapters.journal.problems import JournalDamagedError, translated
from refloat_executor.core.ledger.fold import Books, DisorderedRecordsError, fold
from refloat_executor.core.ledger.values.records import (
    RECORD_VERSION,
    Acked,
    Record,
    Reported,
    Session,
    UnknownRecordError,
    decode_record,
    encode_record,
    kind_of,
)

SCHEMA_VERSION = 1
"""Kept in `PRAGMA user_version`; 0 is a file that was only just made."""

_SCHEMA = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE record (
        n INTEGER PRIMARY KEY,
        run TEXT,
        kind TEXT NOT NULL,
        version INTEGER NOT NULL,
        seq INTEGER,
        final INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        crc INTEGER NOT NULL,
        body BLOB NOT NULL
    )""",
    "CREATE UNIQUE INDEX record_seq ON record (seq) WHERE seq IS NOT NULL",
    "CREATE INDEX record_run ON record (run) WHERE run IS NOT NULL",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
_INSERT = "INSERT INTO record (run, kind, version, seq, final, at_ms, crc, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_UNPRUNABLE = """SELECT min(seq) FROM record WHERE final
    AND run IN (SELECT run FROM record WHERE kind IN ('accept', 'adopt', 'retire'))
    AND run NOT IN (SELECT run FROM record WHERE kind = 'closed')"""
"""The end of a run that is not closed: without it a start would take the run for a living one."""

_PRUNE_CLOSED = """DELETE FROM record WHERE kind != 'report'
    AND run IN (SELECT run FROM record WHERE kind = 'closed')"""
_PRUNE_SUPERSEDED = "DELETE FROM record WHERE kind = ? AND n < (SELECT max(n) FROM record WHERE kind = ?)"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a journal holds at the start of a process. `fresh`: it was only just made and knows nothing."""

    journal_id: str
    books: Books
    fresh: bool
    oldest_seq: int


class SqlJournal:
    """The operations of the journal, each one transaction at most.

    Raises, from every method:
        JournalFullError: no room; nothing was changed.
        JournalBrokenError: the disk failed.
        JournalDamagedError: the file does not hold what was written.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.isolation_level = None

    def load(self, new_id: str) -> Loaded:
        """Make the tables if there are none, with `new_id` as the journal's id, and fold all records."""
        try:
            return self._load(new_id)
        except sqlite3.Error as error:
            raise translated(error) from error
        except (UnknownRecordError, DisorderedRecordsError) as error:
            raise JournalDamagedError(str(error)) from error

    def _load(self, new_id: str) -> Loaded:
        schema = self.schema_version()
        if schema == 0:
            self._in_transaction([*((statement, ()) for statement in _SCHEMA), (_META, ("journal_id", new_id))])
        found = dict(self._connection.execute("SELECT key, value FROM meta"))
        if "journal_id" not in found:
            raise JournalDamagedError("it has no id")
        books = fold(self._records(), int(found.get("pruned_seq", "0")))
        return Loaded(found["journal_id"], books, fresh=schema == 0, oldest_seq=self.oldest_seq())

    def schema_version(self) -> int:
        """The layout of the file; 0 where there is none yet."""
        row: tuple[int] = self._connection.execute("PRAGMA user_version").fetchone()
        return row[0]

    def _records(self) -> Iterator[Record]:
        for n, version, crc, body in self._connection.execute("SELECT n, version, crc, body FROM record ORDER BY n"):
            if zlib.crc32(body) != crc:
                raise JournalDamagedError(f"record {n} does not match its checksum")
            yield decode_record(version, body)

    def append(self, records: Sequence[Record], at_ms: int) -> None:
        """Write these records; they are on the disk when this returns."""
        rows = [(_INSERT, _row(record, at_ms)) for record in records]
        try:
            self._in_transaction(rows)
        except sqlite3.Error as error:
            raise translated(error) from error

    def _in_transaction(self, statements: Sequence[tuple[str, tuple[object, ...]]]) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement, values in statements:
                connection.execute(statement, values)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def reports(self, first_seq: int, max_count: int, max_bytes: int) -> list[Report]:
        """Reports from `first_seq` on without a gap: at least one if there is one, then as many as fit both limits."""
        query = "SELECT seq, version, body FROM record WHERE seq >= ? ORDER BY seq LIMIT ?"
        found: list[Report] = []
        size = 0
        try:
            for seq, version, body in self._connection.execute(query, (first_seq, max_count)):
                size += len(body)
                if seq != first_seq + len(found) or (found and size > max_bytes):
                    break
                record = decode_record(version, body)
                assert isinstance(record, Reported)
                found.append(record.report)
        except sqlite3.Error as error:
            raise translated(error) from error
        return found

    def prune(self, keep_from_ms: int, keep_bytes: int, acked_seq: int) -> None:
        """Drop what no start needs: all but the reports of closed runs, and acknowledged reports that are older than
        `keep_from_ms` or beyond `keep_bytes`.
        """  # noqa: D205  one sentence
        try:
            statements: list[tuple[str, tuple[object, ...]]] = [(_PRUNE_CLOSED, ())]
            statements += [(_PRUNE_SUPERSEDED, (kind, kind)) for kind in ("acked", "session")]
            last = self._last_prunable(keep_from_ms, keep_bytes, acked_seq)
            if last:
                statements += [
                    ("DELETE FROM record WHERE seq <= ?", (last,)),
                    (_META, ("pruned_seq", str(last))),
                ]
            self._in_transaction(statements)
        except sqlite3.Error as error:
            raise translated(error) from error

    def _last_prunable(self, keep_from_ms: int, keep_bytes: int, acked_seq: int) -> int:
        """The highest sequence of the oldest reports that may go together; 0 for none."""
        one = self._connection.execute
        newer = one("SELECT min(seq) FROM record WHERE seq IS NOT NULL AND at_ms >= ?", (keep_from_ms,)).fetchone()[0]
        highest = one("SELECT coalesce(max(seq), 0) FROM record").fetchone()[0]
        by_age = highest if newer is None else newer - 1
        by_size, size = 0, 0
        for seq, length in one("SELECT seq, length(body) FROM record WHERE seq IS NOT NULL ORDER BY seq DESC"):
            size += length
            if size > keep_bytes:
                by_size = seq
                break
        last: int = min(max(by_age, by_size), acked_seq)
        needed = one(_UNPRUNABLE).fetchone()[0]
        return last if needed is None else min(last, needed - 1)

    def oldest_seq(self) -> int:
        """The oldest report that is kept; one more than the last pruned if none is."""
        row = self._connection.execute("SELECT min(seq) FROM record").fetchone()
        if row[0] is not None:
            return int(row[0])
        pruned = self._connection.execute("SELECT value FROM meta WHERE key = 'pruned_seq'").fetchone()
        return int(pruned[0]) + 1 if pruned else 1

    def used_bytes(self) -> int:
        """Bytes of the file that hold something."""
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        (page_bytes,) = self._connection.execute("PRAGMA page_size").fetchone()
        return int((pages - free) * page_bytes)


_META = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


def _row(record: Record, at_ms: int) -> tuple[object, ...]:
    body = encode_record(record)
    run = None if isinstance(record, Acked | Session) else record.run
    seq, final = None, 0
    if isinstance(record, Reported):
        seq, final = record.seq, int(record.report.kind.ends_run)
    return (run, kind_of(record), RECORD_VERSION, seq, final, at_ms, zlib.crc32(body), body)

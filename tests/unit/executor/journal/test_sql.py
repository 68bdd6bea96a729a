"""What the journal keeps, and what it lets go."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from refloat_common.core.messages import Lease, Report, ReportKind
from refloat_executor.adapters.journal import JournalBrokenError, JournalFullError
from refloat_executor.adapters.journal.problems import JournalDamagedError
from refloat_executor.adapters.journal.sql import SqlJournal
from refloat_executor.core.ledger.values.entry import State
from refloat_executor.core.ledger.values.records import (
    Accepted,
    Acked,
    Closed,
    Created,
    Creating,
    Gone,
    Record,
    Reported,
    Session,
    encode_record,
)

DAY_MS = 86_400_000


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as opened:
        yield opened


@pytest.fixture
def journal(connection: sqlite3.Connection) -> SqlJournal:
    made = SqlJournal(connection)
    made.load("jid")
    return made


def lease(run: str) -> Lease:
    return Lease(run=run, job=f"j-{run}", queue="q", job_set="s", namespace="jobs", pod_spec=b"{}")


def reported(seq: int, run: str, kind: ReportKind = ReportKind.SUCCEEDED, message: str = "") -> Reported:
    return Reported(seq, Report(kind=kind, run=run, job=f"j-{run}", message=message))


def started(run: str) -> list[Record]:
    return [Accepted(lease(run)), Creating(run), Created(run, f"u-{run}")]


def whole(seq: int, run: str) -> list[Record]:
    return [*started(run), reported(seq, run), Gone(run, f"u-{run}", 1), Closed(run)]


def kinds(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT kind FROM record ORDER BY n")]


def test_a_journal_gets_an_id_once(connection: sqlite3.Connection) -> None:
    first = SqlJournal(connection).load("one")
    assert (first.journal_id, first.fresh, first.oldest_seq) == ("one", True, 1)
    again = SqlJournal(connection).load("two")
    assert (again.journal_id, again.fresh) == ("one", False)


def test_records_come_back_in_their_order(connection: sqlite3.Connection, journal: SqlJournal) -> None:
    journal.append([*started("a"), reported(1, "a", ReportKind.RUNNING), Session(3, "boot")], 5)
    journal.append([Acked(1, "boot")], 6)
    books = SqlJournal(connection).load("x").books
    assert books.entries["a"].state is State.ACTIVE
    assert (books.next_seq, books.acked_seq, books.last_epoch) == (2, 1, 3)


def test_a_batch_is_written_whole_or_not_at_all(connection: sqlite3.Connection, journal: SqlJournal) -> None:
    journal.append([reported(1, "a")], 5)
    with pytest.raises(JournalBrokenError):
        journal.append([reported(2, "b"), reported(1, "c")], 5)
    assert journal.reports(1, 9, 1 << 20) == [reported(1, "a").report]
    assert not connection.in_transaction


def test_reports_are_read_without_gaps_and_within_limits(journal: SqlJournal) -> None:
    journal.append([reported(n, f"r{n}", message="x" * 100) for n in (1, 2, 3, 5)], 5)
    runs = [report.run for report in journal.reports(1, 9, 1 << 20)]
    assert runs == ["r1", "r2", "r3"], "what follows a gap is not there"
    assert [report.run for report in journal.reports(2, 1, 1 << 20)] == ["r2"]
    assert [report.run for report in journal.reports(2, 9, 1)] == ["r2"], "one at least"
    two = 2 * len(encode_record(reported(1, "r1", message="x" * 100)))
    assert [report.run for report in journal.reports(1, 9, two)] == ["r1", "r2"]
    assert journal.reports(4, 9, 1 << 20) == []


def test_closed_runs_leave_only_their_reports(connection: sqlite3.Connection, journal: SqlJournal) -> None:
    journal.append([*whole(1, "a"), *started("b")], 5)
    journal.prune(keep_from_ms=0, keep_bytes=1 << 20, acked_seq=0)
    assert kinds(connection) == ["report", "accept", "creating", "created"]
    books = SqlJournal(connection).load("x").books
    assert (list(books.entries), books.ended) == (["b"], {"a"})


def test_old_acknowledged_reports_go_and_their_sequences_are_never_used_again(
    connection: sqlite3.Connection, journal: SqlJournal
) -> None:
    journal.append(whole(1, "a"), 0)
    journal.append(whole(2, "b"), 2 * DAY_MS)
    journal.append([Acked(1), Acked(2)], 2 * DAY_MS)
    journal.prune(keep_from_ms=DAY_MS, keep_bytes=1 << 20, acked_seq=2)
    assert (kinds(connection), journal.oldest_seq()) == (["report", "acked"], 2)
    journal.prune(keep_from_ms=3 * DAY_MS, keep_bytes=1 << 20, acked_seq=2)
    assert (kinds(connection), journal.oldest_seq()) == (["acked"], 3)
    assert SqlJournal(connection).load("x").books.next_seq == 3


def test_reports_beyond_the_size_go_oldest_first(journal: SqlJournal) -> None:
    journal.append([record for n in range(1, 6) for record in whole(n, f"r{n}")], 0)
    two = 2 * len(encode_record(reported(1, "r1")))
    journal.prune(keep_from_ms=-1, keep_bytes=two, acked_seq=5)
    assert journal.oldest_seq() == 4


def test_what_is_not_acknowledged_is_kept_whatever_its_age(journal: SqlJournal) -> None:
    journal.append(whole(1, "a"), 0)
    journal.prune(keep_from_ms=DAY_MS, keep_bytes=0, acked_seq=0)
    assert journal.oldest_seq() == 1


def test_the_end_of_a_run_that_is_not_closed_is_kept(connection: sqlite3.Connection, journal: SqlJournal) -> None:
    journal.append([*whole(1, "a"), *started("b"), reported(2, "b"), *whole(3, "c")], 0)
    journal.append([Acked(3)], 0)
    journal.prune(keep_from_ms=DAY_MS, keep_bytes=0, acked_seq=3)
    assert journal.oldest_seq() == 2
    assert SqlJournal(connection).load("x").books.entries["b"].state is State.MARKED


def test_a_flipped_bit_is_noticed(connection: sqlite3.Connection, journal: SqlJournal) -> None:
    journal.append(started("a"), 5)
    connection.execute("UPDATE record SET body = CAST(X'00' || substr(body, 2) AS BLOB) WHERE n = 2")
    with pytest.raises(JournalDamagedError, match="record 2 does not match its checksum"):
        SqlJournal(connection).load("x")
    connection.execute("UPDATE record SET body = CAST(X'FF' AS TEXT) WHERE n = 2")
    with pytest.raises(JournalDamagedError, match="decode"):
        SqlJournal(connection).load("x")


def test_records_that_make_no_sense_are_damage(connection: sqlite3.Connection, journal: SqlJournal) -> None:
    journal.append([Creating("nobody")], 5)
    with pytest.raises(JournalDamagedError, match="out of order"):
        SqlJournal(connection).load("x")


def test_a_journal_without_its_id_is_damaged(connection: sqlite3.Connection, journal: SqlJournal) -> None:
    journal.append([], 5)
    connection.execute("DELETE FROM meta")
    with pytest.raises(JournalDamagedError, match="it has no id"):
        SqlJournal(connection).load("x")


def test_no_room_is_told_and_nothing_is_lost(connection: sqlite3.Connection, journal: SqlJournal) -> None:
    journal.append(started("a"), 5)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    large = reported(1, "a", message="x" * 4000)
    with pytest.raises(JournalFullError, match="the journal can't grow"):
        journal.append([large, reported(2, "a", ReportKind.RUNNING, "y" * 4000)], 5)
    connection.execute("PRAGMA max_page_count = 1000")
    journal.append([large], 5)
    assert journal.reports(1, 9, 1 << 20) == [large.report]


def test_used_bytes_fall_when_records_go(journal: SqlJournal) -> None:
    journal.append([record for n in range(1, 200) for record in whole(n, f"r{n}")], 0)
    before = journal.used_bytes()
    journal.prune(keep_from_ms=1, keep_bytes=0, acked_seq=199)
    assert journal.used_bytes() < before / 2

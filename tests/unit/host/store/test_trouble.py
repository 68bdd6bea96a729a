"""A store in trouble: full, locked, gone in the middle of a commit. Nothing is half applied, and nobody guesses."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import OperationalError

from refloat_common.core.ids import ExecutorId, JobId, JournalId
from refloat_host.adapters.store import database as module
from refloat_host.adapters.store.database import Database, Done, Raised, Work
from refloat_host.adapters.store.errors import StoreBrokenError
from refloat_host.adapters.store.opening import open_store
from refloat_host.adapters.store.queries.jobs import add_jobs
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_scheduler.core.effects import HighWaterMoved
from refloat_scheduler.service.contract import StoreUnavailable
from testkit.host.stores import sqlite_url, take_over, url_database
from testkit.host.values import applied, done, job

EXECUTOR, JOURNAL = ExecutorId("e"), JournalId("j")


def mark(database: Database) -> int:
    return database.read(lambda tx: tx.high_water(EXECUTOR, JOURNAL))


def move(tx: SqlTransaction, seq: int) -> None:
    tx.apply([HighWaterMoved(EXECUTOR, JOURNAL, seq)])


def refused(database: Database, *works: Work[None]) -> list[Exception]:
    outcomes, changes = database.execute(works)
    assert not changes.streams
    return [outcome.error for outcome in outcomes if isinstance(outcome, Raised)]


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    with url_database(sqlite_url(tmp_path)) as database:
        yield database


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[Database]:
    with url_database(postgres_url) as database:
        yield database


def test_a_full_disk_refuses_the_whole_batch_and_nothing_else(file_database: Database) -> None:
    applied(file_database, [HighWaterMoved(EXECUTOR, JOURNAL, 1)])

    def too_much(tx: SqlTransaction) -> None:
        tx.connection.exec_driver_sql("PRAGMA max_page_count = 1")
        add_jobs(tx.connection, [(job(number), "x" * 60_000, "") for number in range(50)])

    errors = refused(file_database, lambda tx: move(tx, 2), too_much)
    assert [type(error) for error in errors] == [StoreUnavailable] * 2
    assert "full" in str(errors[0])
    assert mark(file_database) == 1
    done(file_database, lambda tx: tx.connection.exec_driver_sql("PRAGMA max_page_count = 1000000"))
    applied(file_database, [HighWaterMoved(EXECUTOR, JOURNAL, 3)])
    assert mark(file_database) == 3
    assert file_database.read(lambda tx: tx.jobs([JobId("job-001")])) == {}


def test_a_foreign_writer_is_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refloat_host.adapters.store.opening.BUSY_TIMEOUT_MS", 1)
    with url_database(sqlite_url(tmp_path)) as database:
        applied(database, [HighWaterMoved(EXECUTOR, JOURNAL, 1)])
        intruder = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        intruder.execute("BEGIN IMMEDIATE")
        [error] = refused(database, lambda tx: move(tx, 2))
        assert isinstance(error, StoreUnavailable)
        assert "locked" in str(error)
        intruder.execute("ROLLBACK")
        intruder.close()
        applied(database, [HighWaterMoved(EXECUTOR, JOURNAL, 2)])
        assert mark(database) == 2


def test_a_failed_sync_ends_the_process(file_database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_connection: Connection) -> None:
        broken = sqlite3.OperationalError("disk I/O error")
        broken.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise OperationalError("COMMIT", None, broken)

    monkeypatch.setattr(Connection, "commit", failing)
    with pytest.raises(StoreBrokenError, match="disk I/O error"):
        file_database.execute([lambda tx: move(tx, 1)])


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(os.urandom(8192))
    opened = open_store(sqlite_url(tmp_path))
    with pytest.raises(Exception, match="not a database"):
        take_over(opened)
    opened.close()


@pytest.mark.postgres
def test_a_connection_lost_in_the_middle_applies_nothing(postgres_database: Database, postgres_url: str) -> None:
    other = open_store(postgres_url)

    def cut(tx: SqlTransaction) -> None:
        move(tx, 1)
        with other.writer.begin() as connection:
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            )
        move(tx, 2)

    [error] = refused(postgres_database, cut)
    assert isinstance(error, StoreUnavailable)
    other.close()
    assert mark(postgres_database) == 0
    applied(postgres_database, [HighWaterMoved(EXECUTOR, JOURNAL, 5)])
    assert mark(postgres_database) == 5


class LostAnswer:
    """Makes the answer to one commit get lost, after the commit took place or before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, committed: bool) -> None:
        self._real = Connection.commit
        self._committed = committed
        self._armed = True
        # A bound method would not be given the connection.
        monkeypatch.setattr(Connection, "commit", lambda connection: self._commit(connection))  # noqa: PLW0108  see above
        monkeypatch.setattr(module, "ASK_AGAIN_AFTER_S", 0)

    def _commit(self, connection: Connection) -> None:
        if not self._armed:
            self._real(connection)
            return
        self._armed = False
        if self._committed:
            self._real(connection)
        connection.invalidate()
        raise OperationalError("COMMIT", None, ConnectionError("lost"), connection_invalidated=True)


@pytest.mark.postgres
def test_a_commit_whose_answer_was_lost_counts_if_it_took_place(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    LostAnswer(monkeypatch, committed=True)
    outcomes, _ = postgres_database.execute([lambda tx: move(tx, 1), lambda tx: tx.high_water(EXECUTOR, JOURNAL)])
    assert outcomes == [Done(None), Done(1)]
    assert mark(postgres_database) == 1


@pytest.mark.postgres
def test_a_commit_whose_answer_was_lost_does_not_count_if_it_did_not(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    LostAnswer(monkeypatch, committed=False)
    [error] = refused(postgres_database, lambda tx: move(tx, 1))
    assert isinstance(error, StoreUnavailable)
    assert mark(postgres_database) == 0


@pytest.mark.postgres
def test_nobody_guesses_after_a_change_of_leaders(
    postgres_database: Database, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    LostAnswer(monkeypatch, committed=False)
    real = Database._epoch_and_commits

    def deposed_meanwhile(database: Database) -> tuple[int, int]:
        with url_database(postgres_url):
            return real(database)

    monkeypatch.setattr(Database, "_epoch_and_commits", deposed_meanwhile)
    with pytest.raises(StoreBrokenError, match="another host has taken the store over"):
        postgres_database.execute([lambda tx: move(tx, 1)])


@pytest.mark.postgres
def test_an_outcome_that_cannot_be_found_out_ends_the_process(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    LostAnswer(monkeypatch, committed=True)
    monkeypatch.setattr(module, "FIND_OUT_S", -1)

    def unreachable(*_: object) -> None:
        raise OperationalError("connect", None, ConnectionError("refused"))

    event.listen(postgres_database._opened.writer, "do_connect", unreachable)
    with pytest.raises(StoreBrokenError, match="can't be found out"):
        postgres_database.execute([lambda tx: move(tx, 1)])

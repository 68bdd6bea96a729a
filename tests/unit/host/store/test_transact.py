"""What a transaction promises: all or nothing, alone, durable, and only for the leader."""

from collections.abc import Callable

import anyio
import pytest
from sqlalchemy import insert, select

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_host.adapters.store.database import Database, Deposed, Done, Raised
from refloat_host.adapters.store.errors import StoreBrokenError
from refloat_host.adapters.store.opening import open_store
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.tables import report_marks
from refloat_host.adapters.store.writer import ThreadedStore
from refloat_scheduler.core.effects import HighWaterMoved
from refloat_scheduler.service.contract import StoreUnavailable
from testkit.host.stores import take_over, url_database

JOURNAL = JournalId("journal")


def moved(executor: str, seq: int) -> Callable[[SqlTransaction], int]:
    """A work that moves one high-water mark and reads it back."""

    def work(tx: SqlTransaction) -> int:
        tx.apply([HighWaterMoved(ExecutorId(executor), JOURNAL, seq)])
        return tx.high_water(ExecutorId(executor), JOURNAL)

    return work


def marks(database: Database) -> dict[str, int]:
    def work(tx: SqlTransaction) -> dict[str, int]:
        rows = tx.connection.execute(select(report_marks.c.executor, report_marks.c.have).order_by("executor"))
        return {row.executor: row.have for row in rows}

    return database.read(work)


def failing(tx: SqlTransaction) -> int:
    moved("torn", 9)(tx)
    raise LookupError("the work's own fault")


def test_works_of_one_batch_are_committed_together(database: Database) -> None:
    outcomes, _ = database.execute([moved("a", 1), moved("b", 2)])
    assert outcomes == [Done(1), Done(2)]
    assert marks(database) == {"a": 1, "b": 2}


def test_a_work_that_raises_takes_back_its_own_and_nobody_elses(database: Database) -> None:
    outcomes, _ = database.execute([moved("a", 1), failing, moved("b", 2)])
    assert [outcomes[0], outcomes[2]] == [Done(1), Done(2)]
    assert isinstance(outcomes[1], Raised)
    assert isinstance(outcomes[1].error, LookupError)
    assert marks(database) == {"a": 1, "b": 2}


def test_a_work_that_raises_alone_leaves_nothing(database: Database) -> None:
    [outcome], changes = database.execute([failing])
    assert isinstance(outcome, Raised)
    assert marks(database) == {}
    assert not changes.streams


def test_a_later_work_sees_what_an_earlier_one_wrote(database: Database) -> None:
    outcomes, _ = database.execute([moved("a", 1), lambda tx: tx.high_water(ExecutorId("a"), JOURNAL)])
    assert outcomes == [Done(1), Done(1)]


def test_what_was_committed_is_there_after_the_store_was_opened_again(store_url: str) -> None:
    with url_database(store_url) as database:
        database.execute([moved("a", 7)])
        assert (database.generation, database.epoch) == ("generation-1", 1)
    with url_database(store_url) as database:
        assert marks(database) == {"a": 7}
        assert (database.generation, database.epoch) == ("generation-1", 2)


@pytest.mark.postgres
def test_an_earlier_leader_is_fenced(postgres_url: str) -> None:
    first = take_over(open_store(postgres_url))
    second = take_over(open_store(postgres_url), generation="ignored")
    assert second.generation == "generation-1"
    [outcome], _ = first.execute([moved("a", 1)])
    assert isinstance(outcome, Raised)
    assert isinstance(outcome.error, Deposed)
    assert second.execute([moved("a", 2)])[0] == [Done(2)]
    assert marks(second) == {"a": 2}
    first.close()
    second.close()


def test_an_error_of_ours_is_no_unavailable_store(database: Database) -> None:
    def broken(tx: SqlTransaction) -> None:
        tx.connection.exec_driver_sql("SELECT nothing FROM nowhere")

    [outcome], _ = database.execute([broken])
    assert isinstance(outcome, Raised)
    assert not isinstance(outcome.error, StoreUnavailable)


@pytest.mark.anyio
async def test_many_coroutines_share_one_thread(store_url: str) -> None:
    with url_database(store_url) as database:
        published: list[bool] = []
        store = ThreadedStore(database, lambda _: published.append(True))
        answers: list[int] = []

        async def one(number: int) -> None:
            answers.append(await store.transact(moved(f"e{number:03}", number)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.run)
            async with anyio.create_task_group() as callers:
                for number in range(300):
                    callers.start_soon(one, number)
            tasks.cancel_scope.cancel()
        assert sorted(answers) == list(range(300))
        assert len(published) < 30, "works that wait together are committed together"
        assert marks(database) == {f"e{number:03}": number for number in range(300)}


@pytest.mark.anyio
async def test_a_stopped_store_refuses_at_once(store_url: str) -> None:
    with url_database(store_url) as database:
        store = ThreadedStore(database, lambda _: None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.run)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        with pytest.raises(StoreUnavailable, match="stopping"):
            await store.transact(moved("a", 1))
        assert await store.read(lambda tx: tx.high_water(ExecutorId("a"), JOURNAL)) == 0


def test_reading_beside_the_writer_changes_nothing(store_url: str) -> None:
    with url_database(store_url) as database:

        def sneaky(tx: SqlTransaction) -> None:
            values = {"executor": "x", "journal": "j", "have": 1}
            tx.connection.execute(insert(report_marks).values(values))

        with pytest.raises(Exception, match=r"readonly|read-only"):
            database.read(sneaky)
        assert marks(database) == {}


def test_unknown_things_are_nothing(database: Database) -> None:
    def work(tx: SqlTransaction) -> tuple[object, ...]:
        return (
            tx.high_water(ExecutorId("x"), JOURNAL),
            tx.executor_record(ExecutorId("x")),
            tx.executor_records(),
            tx.nodes(ExecutorId("x")),
            tx.jobs([JobId("x")]),
            tx.jobs_of_runs([RunId("x")]),
            tx.active_jobs(ExecutorId("x"), RunId(""), 10),
            tx.active_counts(),
            tx.queue_policies("x"),
            tx.leases([RunId("x")]),
        )

    assert database.read(work) == (0, None, [], [], {}, {}, [], {}, None, [])


@pytest.mark.anyio
async def test_a_store_that_breaks_leaves_nobody_waiting(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with url_database(store_url) as database:
        store = ThreadedStore(database, lambda _: None)
        refused: list[StoreUnavailable] = []

        def broken(_works: object) -> None:
            raise StoreBrokenError("fsync failed")

        async def ask() -> None:
            try:
                await store.transact(moved("a", 1))
            except StoreUnavailable as error:
                refused.append(error)

        async def run() -> None:
            with pytest.raises(StoreBrokenError, match="fsync failed"):
                await store.run()

        monkeypatch.setattr(database, "execute", broken)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
            tasks.start_soon(run)
        assert len(refused) == 3


@pytest.mark.anyio
async def test_too_many_waiting_transactions_are_refused_at_once(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refloat_host.adapters.store.writer.MAX_WORKS_WAITING", 0)
    with url_database(store_url) as database:
        store = ThreadedStore(database, lambda _: None)
        with pytest.raises(StoreUnavailable, match="0 transactions are waiting for it"):
            await store.transact(moved("a", 1))


@pytest.mark.anyio
async def test_a_commit_is_timed(store_url: str) -> None:
    with url_database(store_url) as database:
        seen: list[tuple[int, float]] = []
        store = ThreadedStore(database, lambda _: None, lambda works, seconds: seen.append((works, seconds)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.run)
            await store.transact(moved("a", 1))
            tasks.cancel_scope.cancel()
        [(works, seconds)] = seen
        assert works == 1
        assert seconds >= 0

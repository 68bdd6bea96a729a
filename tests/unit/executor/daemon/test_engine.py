"""The gate between what was decided and what is done."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from refloat_common.core.categories import ErrorCategories, compile_categories
from refloat_common.core.link.executor.values import CapacityChanged, Event, Journaled, RunsChanged
from refloat_common.core.messages import RunEntry, RunStatus
from refloat_executor.core.cluster.answers import Throttled
from refloat_executor.core.ledger.fold import Books
from refloat_executor.core.ledger.handlers.step import Limits
from refloat_executor.core.ledger.values.effects import Effect
from refloat_executor.core.ledger.values.entry import State
from refloat_executor.core.ledger.values.news import DeleteRefused, PodCreated, PodRead
from refloat_executor.core.ledger.values.records import Acked, Session
from refloat_executor.daemon import engine as engine_module
from refloat_executor.daemon.engine import Config, Engine
from testkit.executor.ledger import CREATE, JOB, LEASE, REMOVE, RUN, UID, entry, pod
from testkit.executor.ports import Loaded, Outside, ToldJournal
from testkit.virtual.run import World, run_virtual

CONFIG = Config(
    limits=Limits(),
    categories=compile_categories(ErrorCategories()),
    tracked_node_labels=(),
    node_id_label="",
    max_kept_pods=10,
    max_runs=50,
    max_leased_jobs=5,
    journal_max_bytes=1000,
    retention_s=3600.0,
    retention_bytes=500,
)


class Doors:
    """An engine at work, and what passed its gate."""

    def __init__(self, outside: Outside) -> None:
        self.outside = outside
        self.engine = Engine(CONFIG, outside.ports())
        self.to_link: list[Event] = []
        self.to_cluster: list[Effect] = []
        self.engine.connect(self.to_link.append, self.to_cluster.append)

    def leased(self) -> None:
        self.engine.brain.leased([LEASE], self.engine.moment())
        self.engine.wake()

    def told(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.to_link if isinstance(event, kind)]


def at_work(scenario: Callable[[Doors], Awaitable[None]], journal: ToldJournal | None = None) -> None:
    """Run a scenario beside the engine's tasks, in virtual time."""

    async def run(world: World) -> None:
        doors = Doors(Outside(world, journal=journal or ToldJournal()))
        doors.engine.start()
        async with anyio.create_task_group() as tasks:
            for task in (doors.engine.run_gate, doors.engine.run_timers, doors.engine.run_upkeep):
                tasks.start_soon(task)
            await scenario(doors)
            tasks.cancel_scope.cancel()

    run_virtual(run)


def test_nothing_passes_before_its_records_are_synced() -> None:
    async def scenario(doors: Doors) -> None:
        doors.leased()
        await anyio.sleep(0.9)
        assert doors.told(RunsChanged) == []
        await anyio.sleep(0.2)
        listed = RunEntry(run=RUN, job=JOB, status=RunStatus.ACCEPTED)
        assert doors.told(RunsChanged) == [RunsChanged((listed,))]

    at_work(scenario, ToldJournal(slow_s=1.0))


def test_what_gathers_during_a_sync_shares_the_next() -> None:
    async def scenario(doors: Doors) -> None:
        doors.leased()
        await anyio.sleep(0.5)
        for news in range(20):
            doors.engine.brain.killed([RUN] if news == 0 else [], doors.engine.moment())
            doors.engine.wake()
        await anyio.sleep(3)
        assert [len(batch) for batch in doors.outside.journal.batches] == [1, 2]

    at_work(scenario, ToldJournal(slow_s=1.0))


def test_a_run_is_told_of_when_its_pod_exists_and_reports_when_they_are_synced() -> None:
    async def scenario(doors: Doors) -> None:
        doors.leased()
        await anyio.sleep(0.01)
        doors.engine.brain.may_start([RUN], doors.engine.moment())
        doors.engine.wake()
        await anyio.sleep(0.01)
        assert doors.to_cluster == [CREATE]
        assert len(doors.told(RunsChanged)) == 1, "while the create is on its way the link may still stop it"
        doors.engine.brain.answered(RUN, PodCreated(pod(phase="Pending")), doors.engine.moment())
        doors.engine.wake()
        await anyio.sleep(0.01)
        active = RunEntry(run=RUN, job=JOB, status=RunStatus.ACTIVE, uid=UID)
        assert doors.told(RunsChanged)[1:] == [RunsChanged((active,))]
        assert doors.told(Journaled) == [Journaled(2)]

    at_work(scenario)


def test_a_full_journal_holds_everything_and_takes_no_leases_until_there_is_room() -> None:
    async def scenario(doors: Doors) -> None:
        doors.outside.journal.full = True
        doors.leased()
        await anyio.sleep(30)
        assert doors.told(RunsChanged) == []
        assert doors.to_link[-1] == CapacityChanged(0, 1000)
        assert doors.outside.log == [("error", "the journal can't grow: no room")]
        assert doors.engine.turned_s > 25, "waiting for room is no standstill"
        doors.outside.journal.full = False
        await anyio.sleep(2)
        assert len(doors.told(RunsChanged)) == 1
        assert doors.to_link[-1] == CapacityChanged(4, 1000)

    at_work(scenario)


@pytest.mark.parametrize(("used", "slots", "holds"), [(0, 5, False), (799, 5, False), (800, 0, False), (950, 0, True)])
def test_a_journal_that_fills_up_slows_the_executor_down(used: int, slots: int, *, holds: bool) -> None:
    async def scenario(doors: Doors) -> None:
        await anyio.sleep(1)
        assert doors.to_link[-1] == CapacityChanged(slots, 1000 - used)
        assert doors.engine.brain.book.limits.holds_deletes is holds

    at_work(scenario, ToldJournal(used_bytes=used))


def test_acknowledgements_wait_a_little_for_company() -> None:
    async def scenario(doors: Doors) -> None:
        doors.engine.journal_record(Acked(1, "boot"))
        await anyio.sleep(0.9)
        assert doors.outside.journal.batches == []
        await anyio.sleep(1.6)
        assert doors.outside.journal.batches == [[Acked(1, "boot")]]

    at_work(scenario)


def test_closing_a_run_is_not_worth_a_sync_of_its_own() -> None:
    done = entry(State.REPORTED, seq=1, gone=True)
    journal = ToldJournal(Loaded(books=Books(entries={RUN: done}, next_seq=2)))

    async def scenario(doors: Doors) -> None:
        doors.engine.journal_record(Acked(1, "boot"))
        doors.engine.brain.acknowledged(1, doors.engine.moment())
        doors.engine.wake()
        await anyio.sleep(0.1)
        assert journal.batches == []
        assert doors.told(RunsChanged)[-1] == RunsChanged((), (RUN,))
        doors.engine.journal_record(Session(4, "boot"))
        doors.engine.wake()
        await anyio.sleep(0.1)
        (batch,) = journal.batches
        assert sorted(type(record).__name__ for record in batch) == ["Acked", "Closed", "Session"]

    at_work(scenario, journal)


def test_timers_do_not_wait_for_the_second() -> None:
    creating = entry(State.CREATING)
    journal = ToldJournal(Loaded(books=Books(entries={RUN: creating})))

    async def scenario(doors: Doors) -> None:
        await anyio.sleep(0.3)
        doors.engine.brain.answered(RUN, PodRead(None), doors.engine.moment())
        doors.engine.wake()
        before = len(doors.to_cluster)
        await anyio.sleep(0.21)
        assert len(doors.to_cluster) == before + 1, "the next read was due within 0.2 s"

    at_work(scenario, journal)


def test_old_records_are_dropped_now_and_then() -> None:
    async def scenario(doors: Doors) -> None:
        await anyio.sleep(engine_module.PRUNE_EVERY_S + 10)
        ((keep_from_ms, keep_bytes, acked),) = doors.outside.journal.pruned
        assert (keep_bytes, acked) == (500, 0)
        assert doors.outside.ports().clock.utc_ms() - keep_from_ms == pytest.approx(3_600_000, abs=20_000)

    at_work(scenario)


def test_failpoints_stand_where_their_names_say() -> None:
    reached: list[tuple[str, int]] = []
    active = entry(State.ACTIVE)
    journal = ToldJournal(Loaded(books=Books(entries={RUN: active})))

    async def run(world: World) -> None:
        outside = Outside(world, journal=journal)
        outside.failpoint = lambda name: reached.append((name, len(journal.batches)))
        doors = Doors(outside)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(doors.engine.run_gate)
            doors.engine.brain.listed("jobs", [], doors.engine.moment())
            doors.engine.brain.answered(RUN, PodRead(None), doors.engine.moment())
            doors.engine.wake()
            await anyio.sleep(1)
            tasks.cancel_scope.cancel()

    run_virtual(run)
    assert reached == [("executor.gone_before_report", 0), ("executor.classified", 1)]


def test_a_request_to_wait_is_kept() -> None:
    killing = entry(State.KILLING, kill=True)
    journal = ToldJournal(Loaded(books=Books(entries={RUN: killing})))

    async def scenario(doors: Doors) -> None:
        await anyio.sleep(0.1)
        assert doors.to_cluster == [REMOVE]
        doors.engine.brain.answered(RUN, DeleteRefused(Throttled(7.0)), doors.engine.moment())
        doors.engine.wake()
        await anyio.sleep(6.9)
        assert doors.to_cluster == [REMOVE]
        await anyio.sleep(0.2)
        assert doors.to_cluster == [REMOVE, REMOVE]

    at_work(scenario, journal)

"""The executor put together, in virtual time: its link, its start, and its ends."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from refloat_common.core.link.frames import Channel
from refloat_common.core.messages import Ack, Nack, Refused, RunStatus, Stale, Welcome
from refloat_common.core.settings import parse_settings
from refloat_executor.core.cluster.answers import Silent
from refloat_executor.core.ledger.fold import Books
from refloat_executor.core.ledger.values.entry import State
from refloat_executor.core.ledger.values.records import Acked, Session
from refloat_executor.daemon.executor import FAREWELL_S, NODES_FIRST_S, PODS_FIRST_S, Executor
from refloat_executor.daemon.linking import JournalBehindError, PassiveError
from refloat_executor.settings import ExecutorSettings
from testkit.executor.ledger import LEASE, RUN, entry
from testkit.executor.ports import Loaded, Outside, ToldJournal
from testkit.executor.scheduler import CREDITS, TIMING
from testkit.virtual.run import World, run_virtual

SETTINGS = parse_settings(
    ExecutorSettings,
    {
        "application": {"clusterId": "E1", "pool": "gpu"},
        "kubernetes": {"namespaces": ["jobs"], "nodeIdLabel": "zone"},
        "link": {"control": "tcp://127.0.0.1:1", "reports": "tcp://127.0.0.1:2", "insecure": True},
    },
)
Scenario = Callable[[Outside, Executor], Awaitable[None]]


def at_work(
    scenario: Scenario, journal: ToldJournal | None = None, prepare: Callable[[Outside], None] | None = None
) -> None:
    """Run a scenario beside an executor, in virtual time."""

    async def run(world: World) -> None:
        outside = Outside(world, journal=journal or ToldJournal())
        if prepare is not None:
            prepare(outside)
        executor = Executor(SETTINGS, outside.ports())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(executor.run)
            await scenario(outside, executor)
            tasks.cancel_scope.cancel()

    run_virtual(run)


def test_a_session_is_opened_and_its_epoch_journaled() -> None:
    async def scenario(outside: Outside, executor: Executor) -> None:
        await outside.scheduler.until_session()
        await anyio.sleep(3)
        assert Session(1, "scheduler-boot") in outside.journal.records
        hello = outside.scheduler.hellos[0]
        assert (hello.executor, hello.journal, hello.pool, hello.node_id_label) == ("E1", "jid", "gpu", "zone")
        assert (hello.next_seq, hello.acked_seq, hello.last_epoch, hello.runs) == (1, 0, 0, [])
        assert executor.healthy()

    at_work(scenario)


def test_the_first_hello_tells_what_the_journal_holds() -> None:
    held = entry(State.REPORTED, seq=4, gone=True)
    creating = entry(State.CREATING, run="r2", job="j2")
    marked = entry(State.MARKED, run="r3", seq=3, acked=True)
    entries = {one.run: one for one in (held, creating, marked)}
    books = Books(entries=entries, next_seq=5, acked_seq=3, last_epoch=8)

    async def scenario(outside: Outside, _executor: Executor) -> None:
        await outside.scheduler.until_session()
        hello = outside.scheduler.hellos[0]
        told = [(run.run, run.status) for run in hello.runs]
        assert sorted(told) == [(RUN, RunStatus.ENDED), ("r2", RunStatus.ACTIVE)]
        assert (hello.next_seq, hello.acked_seq, hello.last_epoch) == (5, 3, 8)

    at_work(scenario, ToldJournal(Loaded(books=books)))


@pytest.mark.parametrize(("fresh", "after_s"), [(False, NODES_FIRST_S), (True, NODES_FIRST_S + PODS_FIRST_S)])
def test_a_cluster_that_does_not_answer_delays_the_first_hello_only_so_long(*, fresh: bool, after_s: float) -> None:
    async def scenario(outside: Outside, _executor: Executor) -> None:
        await outside.scheduler.until_session()
        assert outside.world.loop.time() == pytest.approx(after_s, abs=0.5)

    def deaf(outside: Outside) -> None:
        for verb in ("list", "list-nodes"):
            outside.kube.tell(verb, *[Silent("timeout")] * 500)

    at_work(scenario, ToldJournal(Loaded(fresh=fresh)), deaf)


def test_a_report_that_can_never_be_applied_is_kept_aside_and_the_next_one_follows() -> None:
    async def scenario(outside: Outside, _executor: Executor) -> None:
        scheduler = outside.scheduler
        await scheduler.until_session()
        scheduler.acks = False
        scheduler.lease(LEASE)
        await anyio.sleep(1)
        assert len(scheduler.reports) == 1
        scheduler.say(Channel.REPORTS, Nack(epoch=1, journal="jid", seq=1, permanent=True, code="bad"))
        await anyio.sleep(3)
        assert outside.dead == [(1, "bad")]
        assert Acked(1, "scheduler-boot") in outside.journal.records
        assert outside.meters.counts["unexpected dead-letter"] == 1

    at_work(scenario)


def test_garbage_and_complaints_are_counted_and_change_nothing() -> None:
    async def scenario(outside: Outside, executor: Executor) -> None:
        await outside.scheduler.until_session()
        outside.scheduler.say_bytes(Channel.CONTROL, b"\x01\x63")
        outside.scheduler.say(Channel.CONTROL, Refused(code="size", detail="too large"))
        await anyio.sleep(1)
        assert outside.meters.counts["unexpected frame-too-short"] == 1
        assert outside.meters.counts["unexpected refused-size"] == 1
        assert executor.healthy()

    at_work(scenario)


def _ends_with(error: type[Exception], scenario: Scenario, journal: ToldJournal | None = None) -> None:
    with pytest.RaisesGroup(error, flatten_subgroups=True):
        at_work(scenario, journal)


def test_a_newer_process_ends_this_one() -> None:
    async def scenario(outside: Outside, _executor: Executor) -> None:
        await outside.scheduler.until_session()
        outside.scheduler.say(Channel.CONTROL, Stale(boot="b", epoch=1, reason="superseded"))
        await anyio.sleep_forever()

    _ends_with(PassiveError, scenario)


def test_a_lost_session_is_sought_again() -> None:
    async def scenario(outside: Outside, _executor: Executor) -> None:
        await outside.scheduler.until_session()
        outside.scheduler.say(Channel.CONTROL, Stale(boot="b", epoch=1, reason="restarted"))
        await outside.scheduler.until_session(2)
        assert ("warning", "the session with the scheduler ended") in outside.log

    at_work(scenario)


@pytest.mark.parametrize("word", ["welcome", "ack"])
def test_an_old_copy_of_the_journal_is_set_aside(word: str) -> None:
    journal = ToldJournal()

    async def scenario(outside: Outside, _executor: Executor) -> None:
        if word == "welcome":
            outside.scheduler.have["jid"] = 7
        await outside.scheduler.until_session()
        outside.scheduler.say(Channel.REPORTS, Ack(epoch=1, journal="jid", have=7, credits=CREDITS))
        await anyio.sleep_forever()

    _ends_with(JournalBehindError, scenario, journal)
    assert journal.aside


def test_a_stop_says_goodbye_once_everything_is_acknowledged() -> None:
    async def run(world: World) -> float:
        outside = Outside(world)
        executor = Executor(SETTINGS, outside.ports())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(executor.run)
            await outside.scheduler.until_session()
            executor.stop()
        assert outside.scheduler.said_bye
        return world.loop.time()

    assert run_virtual(run) < NODES_FIRST_S


def test_a_stop_waits_only_so_long_for_a_scheduler_that_is_away() -> None:
    async def run(world: World) -> float:
        outside = Outside(world)
        executor = Executor(SETTINGS, outside.ports())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(executor.run)
            await outside.scheduler.until_session()
            outside.scheduler.acks = False
            outside.scheduler.lease(LEASE)
            await anyio.sleep(1)
            began_s = world.loop.time()
            executor.stop()
        return world.loop.time() - began_s

    assert run_virtual(run) == pytest.approx(FAREWELL_S, abs=0.1)


def test_an_executor_whose_loops_stand_still_is_ill() -> None:
    async def run(world: World) -> tuple[bool, bool]:
        executor = Executor(SETTINGS, Outside(world).ports())
        before = executor.healthy()
        await anyio.sleep(31)
        return before, executor.healthy()

    assert run_virtual(run) == (True, False)


def test_what_a_welcome_says_is_kept() -> None:
    timing: dict[str, Any] = {"credits": CREDITS, "timing": TIMING}

    async def scenario(outside: Outside, _executor: Executor) -> None:
        await outside.scheduler.until_session()
        late = Welcome(scheduler_boot="other", attempt=99, epoch=50, have=0, **timing)
        outside.scheduler.say(Channel.CONTROL, late)
        await anyio.sleep(2)
        assert Session(50, "other") not in outside.journal.records

    at_work(scenario)

"""A fresh scheduler gives no lease until all who hold runs have spoken and handed in their reports."""

import anyio

from refloat_common.core.ids import ExecutorId, JobId, JournalId
from refloat_common.core.messages import ReportKind
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.leases.states import ExecutorState
from refloat_scheduler.service.contract import RoomChanged
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import Play, PlayedExecutor, play

WEST = ExecutorId("exec-2")
BARRIER = "start barrier: executors with runs have not all spoken yet"


async def begun(p: Play) -> tuple[PlayedExecutor, PlayedExecutor]:
    """Two executors with a run each, and a scheduler that has just begun."""
    contents = p.host.contents
    contents.jobs[JOB] = job_of(run_of(1))
    contents.jobs[JobId("job-b")] = job_of(run_of(2, executor=WEST), job_id=JobId("job-b"))
    for name in (ExecutorId("exec-1"), WEST, ExecutorId("exec-3")):
        contents.executors[name] = ExecutorRecord(executor=name)
    await p.start()
    return p.executor("exec-1"), p.executor("exec-2", journal="journal-2")


def test_the_barrier_opens_with_the_last_executor_that_holds_runs() -> None:
    async def scenario(p: Play) -> None:
        east, west = await begun(p)
        assert {view.executor: view.why_not for view in p.plugin.executors()} == {
            "exec-1": "unknown",
            "exec-2": "unknown",
            "exec-3": "unknown",
        }
        await east.hello(entry_of("run-1"))
        assert (p.view("exec-1").may_lease, p.view("exec-1").why_not) == (False, BARRIER)
        await west.hello(entry_of("run-2", job="job-b"))
        assert p.view("exec-1").may_lease
        assert p.view("exec-2").may_lease
        assert p.view("exec-3").state is ExecutorState.UNKNOWN
        assert {RoomChanged(ExecutorId("exec-1")), RoomChanged(WEST)} <= set(p.host.notices)

    play(scenario)


def test_reports_that_were_announced_come_first() -> None:
    async def scenario(p: Play) -> None:
        east, west = await begun(p)
        await east.hello(entry_of("run-1"))
        await west.hello(entry_of("run-2", job="job-b"), next_seq=3)
        assert p.view("exec-2").state is ExecutorState.RETURNING
        west.report(report_of(ReportKind.RUNNING, "run-2", job="job-b"))
        await p.until(lambda: p.host.contents.marks.get((WEST, JournalId("journal-2"))) == 1)
        assert not p.view("exec-1").may_lease
        await west.acknowledged(report_of(ReportKind.SUCCEEDED, "run-2", job="job-b"))
        assert p.view("exec-1").may_lease

    play(scenario)


def test_the_barrier_opens_by_itself_in_the_end() -> None:
    async def scenario(p: Play) -> None:
        east, _ = await begun(p)
        await east.hello(entry_of("run-1"))
        await east.live_on(118)
        assert p.view("exec-1").why_not == BARRIER
        await east.live_on(4)
        assert p.view("exec-1").may_lease

    play(scenario)


def test_without_runs_there_is_nothing_to_wait_for() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        await p.executor().hello()
        await anyio.sleep(1.1)
        assert p.view().may_lease

    play(scenario)


def test_a_store_that_is_down_at_the_start_is_waited_for() -> None:
    async def scenario(p: Play) -> None:
        p.host.down = True
        p.begin()
        await anyio.sleep(10)
        assert not p.plugin.listening.is_set()
        assert p.texts("error") == ["the store cannot commit now: it is down"]
        p.host.down = False
        await p.plugin.listening.wait()
        assert (await p.executor().hello()).epoch == 1

    play(scenario)

"""HELLO and what it is answered with: the session, and the verdicts over the runs that were listed."""

import pytest

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.link.frames import Channel
from refloat_common.core.messages import (
    Heartbeat,
    ReportKind,
    RunStatus,
    RunVerdict,
    Stale,
    Verdict,
    Welcome,
)
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.leases.states import ExecutorState
from refloat_scheduler.core.model import Claim, JobState, RunState
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, nodes_of, report_of, run_of
from testkit.scheduling.plugin import Play, play

OTHER = JobId("job-b")


def test_a_new_executor_is_welcomed_and_stored() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        east = p.executor()
        welcome = await east.hello(pool="gpu")
        assert welcome.model_dump(exclude={"scheduler_boot"}) == {
            "attempt": 1,
            "epoch": 1,
            "have": 0,
            "part": 0,
            "more": False,
            "verdicts": [],
            "credits": 1024,
            "timing": {"heartbeat_interval_s": 5.0, "start_window_s": 30.0},
            "version": 1,
        }
        record = p.host.contents.executors[EXECUTOR]
        assert record == ExecutorRecord(
            executor=EXECUTOR,
            last_epoch=1,
            pool="gpu",
            journal=record.journal,
            capabilities=("delete_action",),
            node_id_label="kubernetes.io/hostname",
            last_seen_at_ms=record.last_seen_at_ms,
        )
        assert (p.view().state, p.view().pool) == (ExecutorState.LIVE, "gpu")

    play(scenario)


def test_each_listed_run_gets_its_verdict_and_the_lease_counts_as_arrived() -> None:
    async def scenario(p: Play) -> None:
        kept = job_of(run_of(1, RunState.LEASED, acknowledged=False, attempted=False))
        ended = job_of(run_of(2, RunState.FAILED), state=JobState.FAILED, job_id=OTHER)
        p.host.contents.jobs.update({JOB: kept, OTHER: ended})
        await p.start()
        welcome = await p.executor().hello(
            entry_of("run-1", RunStatus.ACCEPTED),
            entry_of("run-2", job=OTHER),
            entry_of("run-9", job="job-z"),
        )
        assert welcome.verdicts == [
            RunVerdict(run="run-1", verdict=Verdict.KEEP),
            RunVerdict(run="run-2", verdict=Verdict.KILL),
            RunVerdict(run="run-9", verdict=Verdict.UNKNOWN),
        ]
        assert p.host.contents.jobs[JOB].runs[0].acknowledged
        claim = Claim(RunId("run-9"), JobId("job-z"), EXECUTOR, p.host.contents.claims[RunId("run-9")].pod_uid)
        assert p.host.contents.claims == {RunId("run-9"): claim}

    play(scenario)


def test_a_queued_job_is_adopted_by_the_run_that_the_store_forgot() -> None:
    async def scenario(p: Play) -> None:
        p.host.contents.jobs[JOB] = job_of(state=JobState.QUEUED)
        await p.start()
        welcome = await p.executor().hello(entry_of("run-9"))
        assert welcome.verdicts == [RunVerdict(run="run-9", verdict=Verdict.KEEP)]
        job = p.host.contents.jobs[JOB]
        assert (job.state, [run.run_id for run in job.runs]) == (JobState.LEASED, ["run-9"])

    play(scenario)


def test_no_welcome_leaves_before_its_commit() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        p.host.before_s = p.host.after_s = 3.0
        east = p.executor()
        await east.hello()
        [welcome] = [sent for sent in p.wire.sent if isinstance(sent.message, Welcome)]
        assert welcome.at_s >= p.host.commits[-1] + 3.0

    play(scenario)


def test_with_the_store_down_nobody_is_welcomed_and_the_next_hello_is() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        east = p.executor()
        p.host.down = True
        east.attempt = 1
        first = p.executor()
        with pytest.raises(TimeoutError):
            await first.hello()
        assert first.heard(Welcome) == []
        assert p.host.contents.executors == {}
        p.host.down = False
        assert (await east.hello()).attempt == 2

    play(scenario)


def test_a_restarted_scheduler_knows_no_session_and_gives_a_higher_epoch() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        east = p.executor()
        await east.hello()
        await east.answered()
        p.kill()
        await p.start()
        east.beat()
        stale = await east.hears(Stale)
        assert (stale.reason, stale.epoch) == ("restarted", 1)
        welcome = await east.hello()
        assert (welcome.epoch, welcome.scheduler_boot) == (2, stale.boot)

    play(scenario)


def test_a_message_of_an_older_session_changes_nothing() -> None:
    async def scenario(p: Play) -> None:
        p.host.contents.jobs[JOB] = job_of(run_of(1))
        await p.start()
        east = p.executor()
        await east.hello(entry_of("run-1"))
        old = east.epoch
        await east.hello(entry_of("run-1"))
        east.epoch, new = old, east.epoch
        east.report(report_of(ReportKind.SUCCEEDED))
        assert (await east.hears(Stale)).reason == "unknown"
        assert p.host.contents.jobs[JOB].state is JobState.LEASED
        east.epoch, east.reported = new, 0
        await east.acknowledged(report_of(ReportKind.SUCCEEDED))
        assert p.host.contents.jobs[JOB].state is JobState.SUCCEEDED

    play(scenario)


def test_a_newer_process_of_an_executor_takes_over() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        old, new = p.executor(), p.executor(boot="boot-2")
        await old.hello()
        await new.hello(last_epoch=1)
        assert [stale.reason for stale in old.heard(Stale)] == ["superseded"]
        old.say(Channel.CONTROL, _beat(old.epoch))
        await new.answered()
        assert p.host.contents.executors[EXECUTOR].last_epoch == 2

    play(scenario)


def _beat(epoch: int) -> Heartbeat:
    return Heartbeat(
        epoch=epoch, n=99, acked_seq=0, next_seq=1, runs_count=0, runs_hash="", free_slots=1, journal_free_bytes=1
    )


def test_an_executor_that_removes_no_pods_is_warned_of_once_and_not_with_the_engine_off() -> None:
    async def scenario(p: Play) -> list[str]:
        await p.start()
        east = p.executor(capabilities=())
        await east.hello()
        await east.hello()
        return p.texts("warning")

    warning = (
        "executor exec-1 does not remove failed pods before it reports them (no delete_action): "
        "the retry engine decides none of its failures; upgrade it"
    )
    assert play(scenario) == [warning]
    assert play(scenario, {}) == []


def test_a_store_that_went_back_is_noticed_and_the_reports_come_again() -> None:
    async def scenario(p: Play) -> None:
        p.host.contents.jobs[JOB] = job_of(run_of(1))
        await p.start()
        east = p.executor()
        east.reported = east.acked = 1
        east.epoch = 7
        welcome = await east.hello(entry_of("run-1"))
        assert (welcome.epoch, welcome.have) == (8, 0)
        assert p.texts("error") == [
            "the store has gone back: executor exec-1 was told of report 1 and epoch 7, the store knows 0 and 0"
        ]
        east.reported = 0
        await east.acknowledged(report_of(ReportKind.SUCCEEDED))
        assert p.host.contents.jobs[JOB].state is JobState.SUCCEEDED

    play(scenario)


def test_reports_that_nobody_holds_any_more_are_named_and_passed_over() -> None:
    async def scenario(p: Play) -> None:
        p.host.contents.jobs[JOB] = job_of(run_of(1))
        await p.start()
        east = p.executor()
        east.reported = east.acked = 40
        welcome = await east.hello(entry_of("run-1"), oldest_seq=31)
        assert welcome.have == 30
        hole = (
            "reports 1 to 30 of executor exec-1 are lost: the store does not have them, and the executor holds them no "
            "more; check the jobs that it ran then"
        )
        assert p.texts("error")[1:] == [hole]
        east.report(*[report_of(ReportKind.RUNNING, "run-x")] * 9, report_of(ReportKind.SUCCEEDED), first_seq=31)
        await p.until(lambda: p.host.contents.jobs[JOB].state is JobState.SUCCEEDED)

    play(scenario)


def test_a_farewell_is_said_and_the_lease_runs_on() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        east = p.executor()
        await east.hello()
        east.bye()
        east.beat()
        assert (await east.hears(Stale)).reason == "restarted"
        assert "executor exec-1 has said farewell" in p.texts("info")
        assert p.view().state is ExecutorState.LIVE

    play(scenario)


def test_who_speaks_is_what_the_key_says() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        thief = p.executor("exec-2")
        thief.attempt = 1
        with pytest.raises(TimeoutError):
            await thief.hello(executor=EXECUTOR)
        assert ExecutorId("exec-1") not in p.host.contents.executors
        assert p.metric("refloat_link_faults_total", executor="exec-2", code="identity") == 1

    play(scenario)


def test_node_facts_that_the_store_could_not_take_are_asked_for_again() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        east = p.executor()
        await east.hello()
        p.host.down = True
        east.tell_nodes(*nodes_of("node-1"))
        await p.until(lambda: p.texts("error"))
        p.host.down = False
        assert (await east.answered()).want_nodes
        assert p.host.contents.nodes == {}
        east.tell_nodes(*nodes_of("node-1"))
        await p.until(lambda: p.host.contents.nodes)

    play(scenario)

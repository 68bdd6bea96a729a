"""Executors that fall silent: when their runs get verdicts, in pages, and what is said to them when they come back."""

from collections import Counter

import anyio

from refloat_common.core.ids import ExecutorId, JobId, PodUid, RunId
from refloat_common.core.messages import ReportKind, Verdict
from refloat_scheduler.core.events import JobFailed, JobLeaseExpired
from refloat_scheduler.core.leases.states import ExecutorState
from refloat_scheduler.core.model import Claim, JobState, RunState
from refloat_scheduler.service.contract import JobsRequeued, PolicyDocument
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import Play, PlayedExecutor, play

LEASE_S = 3600.0
RETRY_EXPIRED = PolicyDocument(
    "p",
    {
        "retryLimit": 3,
        "defaultAction": "Fail",
        "rules": [{"action": "Retry", "onCategory": "internal", "onSubcategory": "lease-expired"}],
    },
)


def runs_on(p: Play, count: int) -> None:
    """So many jobs with a run each on exec-1, under a policy that retries lost runs."""
    p.host.contents.queues["queue-a"] = ("p",)
    p.host.policies.append(RETRY_EXPIRED)
    for number in range(count):
        job_id = JobId(f"job-{number:04}")
        run = run_of(1, run_id=RunId(f"run-{number:04}"), job_id=job_id)
        p.host.contents.jobs[job_id] = job_of(run, job_id=job_id)


async def begun(p: Play, runs: int = 1) -> tuple[PlayedExecutor, PlayedExecutor]:
    """exec-1 holds runs; exec-2 has none and stays alive."""
    runs_on(p, runs)
    await p.start()
    east, west = p.executor(), p.executor("exec-2")
    await east.hello(*[entry_of(f"run-{n:04}", job=f"job-{n:04}") for n in range(runs)])
    await west.hello()
    return east, west


def states(p: Play) -> Counter[JobState]:
    return Counter(job.state for job in p.host.contents.jobs.values())


def test_the_runs_of_a_silent_executor_get_verdicts_once_its_lease_has_run_out() -> None:
    async def scenario(p: Play) -> None:
        _, west = await begun(p)
        await west.live_on(LEASE_S - 5)
        assert states(p) == {JobState.LEASED: 1}
        assert p.view("exec-1").state is ExecutorState.SUSPECT
        await west.live_on(10)
        assert states(p) == {JobState.QUEUED: 1}
        assert p.view("exec-1").state is ExecutorState.LOST
        told = [type(event) for event in p.host.contents.events]
        assert told == [JobLeaseExpired, JobFailed]
        assert p.host.notices.count(JobsRequeued(("queue-a",))) == 1
        assert "executor exec-1 is lost after 3601 s of silence; its runs get verdicts" in p.texts("error")
        assert p.metric("refloat_leases_expired_total", executor="exec-1") == 1
        assert p.metric("refloat_executor_state", executor="exec-1", state="lost") == 1
        assert p.host.contents.executors[EXECUTOR].runs_expired_at_ms > 0

    play(scenario)


def test_many_runs_expire_in_transactions_of_500() -> None:
    async def scenario(p: Play) -> None:
        _, west = await begun(p, 1200)
        await west.live_on(LEASE_S - 5)
        commits = len(p.host.commits)
        await west.live_on(10)
        assert states(p) == {JobState.QUEUED: 1200}
        assert len(p.host.commits) - commits == 4  # three pages, and the note that it was given up
        assert len(p.host.contents.verdicts) == 1200

    play(scenario)


def test_an_executor_that_comes_back_in_the_middle_keeps_the_rest() -> None:
    async def scenario(p: Play) -> None:
        east, west = await begun(p, 1200)
        await west.live_on(LEASE_S - 5)
        p.host.before_s = 1.0
        await p.until(lambda: states(p)[JobState.QUEUED] >= 500)
        welcome = await east.hello(*[entry_of(f"run-{n:04}", job=f"job-{n:04}") for n in range(1200)])
        await west.live_on(30)
        found = states(p)
        assert found[JobState.LEASED] >= 200
        said = Counter(verdict.verdict for verdict in welcome.verdicts)
        assert said[Verdict.KILL] >= 500
        kept = {verdict.run for verdict in welcome.verdicts if verdict.verdict is Verdict.KEEP}
        leased = {job.runs[-1].run_id for job in p.host.contents.jobs.values() if job.state is JobState.LEASED}
        assert leased <= kept
        assert p.host.contents.executors[EXECUTOR].runs_expired_at_ms == 0

    play(scenario)


def test_what_comes_back_after_its_expiry_is_killed_and_its_late_reports_change_nothing() -> None:
    async def scenario(p: Play) -> None:
        east, west = await begun(p)
        await west.live_on(LEASE_S + 5)
        welcome = await east.hello(entry_of("run-0000", job="job-0000"), next_seq=2)
        assert [verdict.verdict for verdict in welcome.verdicts] == [Verdict.KILL]
        events = len(p.host.contents.events)
        await east.acknowledged(report_of(ReportKind.SUCCEEDED, "run-0000", job="job-0000"))
        assert states(p) == {JobState.QUEUED: 1}
        assert len(p.host.contents.events) == events
        assert [late.kind for late in p.host.contents.late] == ["succeeded"]
        assert p.view("exec-1").state is ExecutorState.LIVE

    play(scenario)


def test_one_that_is_heard_again_without_a_hello_is_looked_through_first() -> None:
    async def scenario(p: Play) -> None:
        east, west = await begun(p)
        await west.live_on(LEASE_S + 5)
        answer = await east.answered()
        assert (answer.want_runs, p.view("exec-1").state) == (True, ExecutorState.RETURNING)
        answer = await east.answered(runs=[entry_of("run-0000", job="job-0000")])
        assert (answer.kills, answer.want_runs) == (["run-0000"], False)
        assert p.view("exec-1").state is ExecutorState.LIVE

    play(scenario)


def test_holds_and_claims_of_a_lost_executor_are_let_go() -> None:
    async def scenario(p: Play) -> None:
        held = job_of(run_of(1, RunState.FAILED), state=JobState.QUEUED, hold_for_uid=PodUid("uid-1"))
        claim = Claim(RunId("run-9"), JobId("job-z"), EXECUTOR)
        _, west = await begun(p)
        p.host.contents.jobs[JOB] = held
        p.host.contents.claims[claim.run_id] = claim
        await west.live_on(LEASE_S + 5)
        assert p.host.contents.jobs[JOB].leasable
        assert p.host.contents.claims == {}

    play(scenario)


def test_a_store_that_fails_in_the_middle_delays_the_rest_and_loses_nothing() -> None:
    async def scenario(p: Play) -> None:
        _, west = await begun(p, 600)
        await west.live_on(LEASE_S - 5)
        await p.until(lambda: states(p)[JobState.QUEUED] == 500)
        p.host.down = True
        await west.live_on(30)
        assert states(p) == {JobState.QUEUED: 500, JobState.LEASED: 100}
        p.host.down = False
        await west.live_on(5)
        assert states(p) == {JobState.QUEUED: 600}
        assert len(p.host.contents.verdicts) == 600

    play(scenario)


def test_nobody_is_lost_while_the_store_is_down_nor_for_three_heartbeats_after() -> None:
    async def scenario(p: Play) -> None:
        _, west = await begun(p)
        await west.live_on(LEASE_S - 60)
        p.host.down = True
        west.report(report_of(ReportKind.RUNNING, "run-x"))
        await west.live_on(120)
        assert p.view("exec-1").state is ExecutorState.SUSPECT
        p.host.down = False
        await west.live_on(14)
        assert p.view("exec-1").state is ExecutorState.SUSPECT
        await west.live_on(5)
        assert p.view("exec-1").state is ExecutorState.LOST

    play(scenario)


def test_a_paused_scheduler_takes_its_own_silence_for_nobody_elses() -> None:
    async def scenario(p: Play) -> None:
        east, west = await begun(p)
        await anyio.sleep(10)
        p.world.loop.pause(p.process, 2 * LEASE_S)
        await anyio.sleep(2 * LEASE_S)
        for executor in (east, west):
            executor.beat()
        await anyio.sleep(60)
        assert states(p) == {JobState.LEASED: 1}

    play(scenario)


def test_a_restarted_scheduler_grants_a_whole_lease() -> None:
    async def scenario(p: Play) -> None:
        _, west = await begun(p)
        await west.live_on(LEASE_S - 60)
        p.kill()
        await p.start()
        await west.hello()
        await west.live_on(LEASE_S - 10)
        assert states(p) == {JobState.LEASED: 1}
        await west.live_on(20)
        assert states(p) == {JobState.QUEUED: 1}

    play(scenario)


def test_when_most_fall_silent_nobody_is_lost_and_somebody_is_called() -> None:
    async def scenario(p: Play) -> None:
        await begun(p)
        await p.executor("exec-3").hello()
        await anyio.sleep(2 * LEASE_S)
        assert states(p) == {JobState.LEASED: 1}
        text = "self-preservation: 3 of 3 executors are silent; no lease expires"
        assert [entry for entry in p.texts("error") if entry.startswith("self-pres")][:1] == [text]
        assert p.metric("refloat_self_preservation") == 1

    play(scenario)


def test_with_the_policy_silent_on_expiry_the_job_fails() -> None:
    async def scenario(p: Play) -> None:
        _, west = await begun(p)
        p.host.policies[:] = [PolicyDocument("p", {"retryLimit": 3, "defaultAction": "Fail", "rules": []})]
        await west.live_on(LEASE_S + 5)
        assert states(p) == {JobState.FAILED: 1}
        [event] = p.host.contents.events
        assert isinstance(event, JobFailed)
        assert event.reason == "Lease expired and not retried by policy: no rule matched, using default action"

    play(scenario)


def test_two_losses_keep_their_distance() -> None:
    async def scenario(p: Play) -> None:
        contents = p.host.contents
        names = [ExecutorId(f"exec-{n}") for n in range(1, 8)]
        contents.jobs[JOB] = job_of(run_of(1))
        contents.jobs[JobId("job-b")] = job_of(run_of(2, executor=names[1]), job_id=JobId("job-b"))
        await p.start()
        others = [p.executor(name, journal=f"journal-{name}") for name in names]
        for one in others:
            await one.hello(*([entry_of("run-1")] if one.name == "exec-1" else []))
        async with anyio.create_task_group() as tasks:
            for one in others[2:]:
                tasks.start_soon(one.live_on, LEASE_S + 200)
            await anyio.sleep(LEASE_S + 30)
            assert sorted(p.view(name).state for name in names[:2]) == [ExecutorState.LOST, ExecutorState.SUSPECT]
            await anyio.sleep(60)
            assert [p.view(name).state for name in names[:2]] == [ExecutorState.LOST] * 2

    play(scenario)


def test_with_one_executor_its_silence_is_ours_if_our_own_doors_are_shut() -> None:
    async def scenario(p: Play, *, reachable: bool) -> ExecutorState:
        runs_on(p, 1)
        await p.start()
        p.wire.is_reachable = reachable
        await p.executor().hello(entry_of("run-0000", job="job-0000"))
        await anyio.sleep(LEASE_S + 60)
        return p.view().state

    assert play(lambda p: scenario(p, reachable=True)) is ExecutorState.LOST
    assert play(lambda p: scenario(p, reachable=False)) is ExecutorState.SUSPECT

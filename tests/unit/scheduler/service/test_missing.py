"""Runs that an executor took and lists no more: waited for, then ended, so that no job stays leased for ever."""

import anyio

from refloat_common.core.messages import ReportKind, RunStatus
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.core.model import JobState, RunState
from refloat_scheduler.service.contract import PolicyDocument
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import Play, PlayedExecutor, play

GRACE_S = 60


async def forgotten(p: Play) -> PlayedExecutor:
    """exec-1 has forgotten the run that the store has on it."""
    p.host.contents.jobs[JOB] = job_of(run_of(1))
    await p.start()
    east = p.executor(boot="boot-2")
    await east.hello()
    return east


def test_after_the_grace_the_run_ends_as_missing() -> None:
    async def scenario(p: Play) -> None:
        east = await forgotten(p)
        await east.live_on(GRACE_S - 2)
        assert p.host.contents.jobs[JOB].state is JobState.LEASED
        await east.live_on(4)
        job = p.host.contents.jobs[JOB]
        assert (job.state, job.runs[0].state) == (JobState.FAILED, RunState.FAILED)
        [event] = p.host.contents.events
        assert isinstance(event, JobFailed)
        assert (event.failure_category, event.failure_subcategory, event.reason, event.retryable) == (
            "internal",
            "pod-missing",
            "Pod is unexpectedly missing in Kubernetes",
            False,
        )
        assert p.texts("warning") == ["executor exec-1: runs that it no longer lists have ended"]

    play(scenario)


def test_a_rule_may_retry_a_missing_run() -> None:
    async def scenario(p: Play) -> None:
        rule = {"action": "Retry", "onCategory": "internal", "onSubcategory": "pod-missing"}
        p.host.policies.append(PolicyDocument("p", {"retryLimit": 1, "defaultAction": "Fail", "rules": [rule]}))
        p.host.contents.queues["queue-a"] = ("p",)
        east = await forgotten(p)
        await east.live_on(GRACE_S + 2)
        assert p.host.contents.jobs[JOB].state is JobState.QUEUED

    play(scenario)


def test_its_last_report_comes_in_time() -> None:
    async def scenario(p: Play) -> None:
        east = await forgotten(p)
        await east.live_on(GRACE_S / 2)
        await east.acknowledged(report_of(ReportKind.SUCCEEDED))
        await east.live_on(GRACE_S)
        assert p.host.contents.jobs[JOB].state is JobState.SUCCEEDED
        assert len(p.host.contents.events) == 1

    play(scenario)


def test_a_run_that_is_listed_again_is_not_missed_any_more() -> None:
    async def scenario(p: Play) -> None:
        east = await forgotten(p)
        await east.live_on(GRACE_S / 2)
        await east.answered(runs=[entry_of("run-1")])
        await east.live_on(GRACE_S)
        assert p.host.contents.jobs[JOB].state is JobState.LEASED

    play(scenario)


def test_the_grace_runs_from_the_first_list_that_lacks_it() -> None:
    async def scenario(p: Play) -> None:
        east = await forgotten(p)
        for _ in range(5):
            await east.live_on(GRACE_S / 6)
            await east.answered(runs=[])
        assert p.host.contents.jobs[JOB].state is JobState.LEASED
        await east.live_on(GRACE_S / 6 + 2)
        assert p.host.contents.jobs[JOB].state is JobState.FAILED

    play(scenario)


def test_nothing_is_ended_before_the_announced_reports_are_in() -> None:
    async def scenario(p: Play) -> None:
        p.host.contents.jobs[JOB] = job_of(run_of(1))
        await p.start()
        east = p.executor(boot="boot-2")
        await east.hello(next_seq=2)
        await east.live_on(2 * GRACE_S)
        assert p.host.contents.jobs[JOB].state is JobState.LEASED
        await east.acknowledged(report_of(ReportKind.FAILED))
        error = p.host.contents.jobs[JOB].runs[0].error
        assert error is not None
        assert error.category == "oom"

    play(scenario)


def test_a_run_that_is_ended_here_and_unreported_there_is_left_alone() -> None:
    async def scenario(p: Play) -> None:
        p.host.contents.jobs[JOB] = job_of(run_of(1))
        await p.start()
        east = p.executor()
        await east.hello(entry_of("run-1", RunStatus.ENDED))
        await east.live_on(2 * GRACE_S)
        assert p.host.contents.jobs[JOB].state is JobState.LEASED

    play(scenario)


def test_with_the_store_down_it_waits_for_the_store() -> None:
    async def scenario(p: Play) -> None:
        east = await forgotten(p)
        p.host.fails_on = "_end"
        await east.live_on(GRACE_S + 5)
        assert p.host.contents.jobs[JOB].state is JobState.LEASED
        p.host.fails_on = ""
        await anyio.sleep(2)
        assert p.host.contents.jobs[JOB].state is JobState.FAILED

    play(scenario)

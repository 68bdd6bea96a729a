"""The policy cache as it runs: refreshed again and again, open to failure, told in the log and in metrics."""

import anyio
import pytest

from refloat_common.core.messages import ReportKind
from refloat_scheduler.core.model import JobState
from refloat_scheduler.service.contract import PolicyDocument
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import Play, PlayedExecutor, play


def policy(action: str = "Retry", name: str = "p") -> PolicyDocument:
    rule = {"action": action, "onCategory": "oom"}
    return PolicyDocument(name, {"retryLimit": 3, "defaultAction": "Fail", "rules": [rule]})


async def begun(p: Play, *policies: PolicyDocument) -> PlayedExecutor:
    p.host.contents.jobs[JOB] = job_of(run_of(1))
    p.host.contents.queues["queue-a"] = ("p",)
    p.host.policies[:] = policies
    await p.start()
    east = p.executor()
    await east.hello(entry_of("run-1"))
    return east


async def failed(p: Play, east: PlayedExecutor) -> tuple[JobState, str]:
    """How the failure of the job's run ends, and which gate or decision it was."""
    await east.acknowledged(report_of(ReportKind.FAILED))
    [verdict] = p.host.contents.verdicts.values()
    return p.host.contents.jobs[JOB].state, verdict.decision or verdict.gate.value


def test_policies_are_read_before_anybody_connects() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p, policy())
        assert await failed(p, east) == (JobState.QUEUED, "retry")
        assert p.metric("refloat_policies_served") == 1

    play(scenario)


def test_an_edit_counts_from_the_next_refresh_on() -> None:
    async def scenario(p: Play, wait_s: float) -> tuple[JobState, str]:
        east = await begun(p, policy())
        p.host.policies[:] = [policy("Fail")]
        await anyio.sleep(wait_s)
        return await failed(p, east)

    assert play(lambda p: scenario(p, 9)) == (JobState.QUEUED, "retry")
    assert play(lambda p: scenario(p, 11)) == (JobState.FAILED, "fail_rule")


def test_a_word_of_the_host_brings_the_refresh_forward() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p, policy())
        p.host.policies[:] = [policy("Fail")]
        p.plugin.policies_changed()
        await anyio.sleep(0.1)
        assert await failed(p, east) == (JobState.FAILED, "fail_rule")

    play(scenario)


def test_while_policies_cannot_be_read_the_last_good_ones_decide_for_ever() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p, policy())
        p.host.policies[:] = [policy("Fail")]
        p.host.policies_down = True
        await east.live_on(3600)
        assert p.metric("refloat_policy_refresh_failures_total") == 360
        assert p.metric("refloat_policy_cache_age_seconds") == pytest.approx(3600, abs=2)
        warnings = p.texts("warning")
        assert set(warnings) == {"error fetching retry policies: the store cannot commit now: it is down"}
        assert len(warnings) == 360
        assert await failed(p, east) == (JobState.QUEUED, "retry")
        p.host.policies_down = False
        await anyio.sleep(11)
        assert (p.metric("refloat_policy_cache_age_seconds") or 99) < 11

    play(scenario)


def test_an_invalid_policy_is_skipped_and_named_and_its_queue_falls_back() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p, PolicyDocument("good", policy().body), policy("Reconsider"))
        skipped = 'skipping invalid retry policy "p": rules[0].action: no RetryAction of name "Reconsider"'
        assert p.texts("warning") == [skipped]
        assert p.metric("refloat_policy_invalid_skips_total", policy="p") == 1
        assert p.metric("refloat_policies_served") == 1
        assert await failed(p, east) == (JobState.FAILED, "policy_missing")
        missing = 'retry policy "p" referenced by queue "queue-a" not found in cache; falling back to legacy behaviour'
        assert missing in p.texts("warning")
        assert p.metric("refloat_policy_missing_total", queue="queue-a", policy="p") == 1

    play(scenario)


def test_if_all_are_invalid_all_are_skipped() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p, policy())
        p.host.policies[:] = [policy("Reconsider"), policy("Ponder", "q")]
        await anyio.sleep(11)
        assert p.metric("refloat_policies_served") == 0
        assert await failed(p, east) == (JobState.FAILED, "policy_missing")

    play(scenario)


def test_with_the_flag_off_no_policy_is_read() -> None:
    async def scenario(p: Play) -> None:
        p.host.policies_down = True
        east = await begun(p, policy())
        await anyio.sleep(60)
        assert p.texts("warning") == []
        assert await failed(p, east) == (JobState.FAILED, "flag_off")

    play(scenario, {})

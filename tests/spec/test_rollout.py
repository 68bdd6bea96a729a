"""The specification's section *Rollout guide for operators*: the flag in mid-flight, consumers, what to alert on."""

from dataclasses import replace

import anyio
from armada_client.armada import event_pb2

from refloat_common.core.ids import JobId
from refloat_common.core.messages import ReportKind
from refloat_host.api.messages.events import event_message
from refloat_scheduler.core.model import Job, JobState, RunState
from refloat_scheduler.service.contract import PolicyDocument
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import ENGINE_ON as PLUGIN_ON
from testkit.scheduling.plugin import Play, PlayedExecutor, play
from testkit.whole.system import ENGINE_ON, System, exits, live, rule

SLOW = '{"cases": [{"when": {"attempts": [1]}, "outcome": "exit", "code": 1}, {"outcome": "%s", "afterMs": 60000}]}'
OFF = {"scheduling": {"maxRetries": 2}}
DECISIONS = "armada_scheduler_retry_policy_decisions_total"


async def retried(s: System, ends: str) -> JobId:
    """A job whose second run is running; it will end in this way a minute later."""
    job_id = await s.submit(SLOW % ends)
    await s.reached(job_id, lambda job: len(job.runs) == 2 and job.runs[1].state is RunState.RUNNING)
    return job_id


# ---- the flag in mid-flight


def test_jobs_that_were_retried_run_on_when_the_flag_goes_off() -> None:
    async def scenario(s: System) -> None:
        job_id = await retried(s, "succeed")
        before = (await s.job(job_id)).runs[1]
        s.restart_host(OFF)
        await s.until(lambda: s.host.daemon is not None)
        job = await s.ended(job_id)
        assert (job.state, len(job.runs)) == (JobState.SUCCEEDED, 2)
        assert (job.runs[1].run_id, job.runs[1].pod_uid) == (before.run_id, before.pod_uid)

    live(scenario)


def test_with_the_flag_off_new_failures_are_legacy_ones_without_budgets() -> None:
    """The failure is final and told as it is, although the policy would have granted it; the flag is what decides."""

    async def scenario(s: System) -> None:
        job_id = await retried(s, "exit")
        s.restart_host(OFF)
        await s.until(lambda: s.host.daemon is not None)
        job = await s.ended(job_id)
        assert (job.state, len(job.runs)) == (JobState.FAILED, 2)
        last = (await s.failures(job_id))[-1]
        assert (last.retryable, last.reason) == (False, "Container main failed with exit code 1 because Error: \n")
        assert [verdict["gate"] for verdict in await s.verdicts(job_id)] == ["passed", "flag_off"]

    live(scenario)


def test_with_the_flag_off_the_attempt_limit_bounds_what_is_tried_again() -> None:
    """All attempts count, those that the engine had granted too."""

    async def scenario(s: System) -> None:
        job_id = await s.submit_where_the_name_is_taken()
        await s.reached(job_id, lambda job: bool(job.runs))
        s.restart_host(OFF)
        await s.until(lambda: s.host.daemon is not None)
        job = await s.ended(job_id)
        [event] = await s.failures(job_id)
        assert event.reason.startswith("Maximum number of attempts (3) reached")
        assert len(job.runs) >= 3

    live(scenario, {"scheduling": {"maxRetries": 1000, "retryPolicy": {"enabled": True}}})


def test_no_state_is_lost_when_the_flag_goes_off_and_on_again() -> None:
    def told(job: Job) -> object:
        return replace(job, runs=tuple(replace(run, acknowledged=True) for run in job.runs))

    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app", resources={"memory": {"factor": 2.0}}), limit=2)
        job_id = await retried(s, "exit")
        before, events = await s.job(job_id), await s.told(job_id)
        for tree in (OFF, ENGINE_ON):
            s.restart_host(tree)
            await s.until(lambda: s.host.daemon is not None)
            await anyio.sleep(5)
            assert told(await s.job(job_id)) == told(before)
            assert await s.told(job_id) == events
        job = await s.ended(job_id)
        assert (job.state, len(job.runs), job.record.memory_factor) == (JobState.FAILED, 3, 4.0)
        assert (await s.verdicts(job_id))[-1]["reason"] == "policy retry limit exceeded (2/2)"

    live(scenario)


# ---- consumers


def test_a_retryable_failure_is_an_ordinary_failed_event_with_one_flag_more() -> None:
    """A consumer that does not read the flag sees the event of a failed job."""

    async def scenario(s: System) -> list[event_pb2.EventMessage]:
        await s.policy("p", limit=1)
        job_id = await s.submit(exits(1))
        await s.ended(job_id)
        return [event_message(event) for event in await s.failures(job_id)]

    first, last = live(scenario)
    assert (first.WhichOneof("events"), last.WhichOneof("events")) == ("failed", "failed")
    assert (first.failed.retryable, last.failed.retryable) == (True, False)
    assert (first.failed.failure_category, first.failed.failure_subcategory) == ("app", "")
    assert first.failed.container_statuses[0].exitCode == 1


# ---- what to alert on


def policy(action: str = "Retry") -> PolicyDocument:
    body = {"retryLimit": 3, "defaultAction": "Fail", "rules": [{"action": action, "onCategory": "oom"}]}
    return PolicyDocument("p", body)  # type: ignore[arg-type]  # it is JSON


async def begun(p: Play) -> PlayedExecutor:
    """A run on exec-1 under the policy p."""
    p.host.contents.jobs[JOB] = job_of(run_of(1))
    p.host.contents.queues["queue-a"] = ("p",)
    p.host.policies[:] = [policy()]
    await p.start()
    east = p.executor()
    await east.hello(entry_of("run-1"))
    return east


async def verdict(p: Play, east: PlayedExecutor) -> str:
    """The decision over the run's failure."""
    await east.acknowledged(report_of(ReportKind.FAILED))
    [found] = p.host.contents.verdicts.values()
    return found.decision or found.gate.value


def test_refresh_failures_and_the_age_of_the_cache_are_measured() -> None:
    async def scenario(p: Play) -> None:
        await begun(p)
        await anyio.sleep(2)
        young = p.metric("refloat_policy_cache_age_seconds") or 0.0
        p.host.policies_down = True
        await anyio.sleep(100)
        assert p.metric("refloat_policy_refresh_failures_total") == 10
        assert (p.metric("refloat_policy_cache_age_seconds") or 0.0) > young + 95

    play(scenario, PLUGIN_ON)


def test_policies_are_read_again_every_period() -> None:
    async def scenario(p: Play) -> None:
        await begun(p)
        p.host.policies[:] = [policy("Fail")]
        await anyio.sleep(31)
        assert p.host.loads == 1 + 3

    play(scenario, PLUGIN_ON)


def test_retries_go_on_through_an_outage_of_the_api() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        p.host.policies_down = True
        await east.live_on(120)
        assert await verdict(p, east) == "retry"

    play(scenario, PLUGIN_ON)


def test_a_refresh_failure_is_a_warning_in_the_log_as_well() -> None:
    async def scenario(p: Play) -> None:
        await begun(p)
        p.host.policies_down = True
        await anyio.sleep(35)
        line = "error fetching retry policies: the store cannot commit now: it is down"
        assert p.texts("warning") == [line] * 3

    play(scenario, PLUGIN_ON)


def test_an_edit_during_an_outage_counts_once_the_api_is_back() -> None:
    async def scenario(p: Play, *, back: bool) -> str:
        east = await begun(p)
        p.host.policies[:], p.host.policies_down = [policy("Fail")], True
        await east.live_on(60)
        p.host.policies_down = not back
        await east.live_on(20)
        return await verdict(p, east)

    assert play(lambda p: scenario(p, back=False), PLUGIN_ON) == "retry"
    assert play(lambda p: scenario(p, back=True), PLUGIN_ON) == "fail_rule"


def test_decisions_are_counted_for_each_queue_pool_policy_and_decision() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Fail", "user-error"), limit=1)
        await s.policy("other", default="Fail")
        await s.queue("r", "other")
        for script, queue in ((exits(1, 1), "q"), (exits(3), "q"), (exits(1), "q"), (exits(1), "r")):
            await s.ended(await s.submit(script, queue=queue))
        counts = {
            (sample.labels["queue"], sample.labels["policy"], sample.labels["decision"]): sample.value
            for metric in s.host.registry.collect()
            for sample in metric.samples
            if sample.name == DECISIONS and sample.labels["pool"] == "default"
        }
        assert counts == {
            ("q", "p", "retry"): 2,
            ("q", "p", "fail_rule"): 1,
            ("q", "p", "fail_policy_limit"): 1,
            ("r", "other", "fail_default"): 1,
        }

    live(scenario)


def test_a_retry_spike_can_be_attributed_to_its_queue_and_policy() -> None:
    async def scenario(s: System) -> None:
        await s.queue("noisy", "p")
        for queue, times in (("q", 1), ("noisy", 3)):
            await s.ended(await s.submit(exits(1, times), queue=queue))
        rates = [s.metric(DECISIONS, queue=q, pool="default", policy="p", decision="retry") for q in ("q", "noisy")]
        assert rates == [1, 3]

    live(scenario)

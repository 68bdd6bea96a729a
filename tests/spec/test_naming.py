"""The specification's section *Pod naming and collision avoidance*, on the whole product."""

import json

import anyio

from refloat_common.core.ids import ExecutorId, JobId, pod_name
from refloat_common.core.messages import ReportKind
from refloat_fakekube.core.objects import texts
from refloat_scheduler.core.events import JobLeaseReturned
from refloat_scheduler.core.model import JobState
from refloat_scheduler.service.contract import PolicyDocument
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import ENGINE_ON as PLUGIN_ON
from testkit.scheduling.plugin import Play, play
from testkit.whole.system import System, Tree, exits, live, rule

KEPT = exits(9, 1)
"""Ends the first attempt in a category of action Retain."""


def retries(limit: int) -> Tree:
    """So many tries of returned leases."""
    return {"scheduling": {"maxRetries": limit, "retryPolicy": {"enabled": True}}}


async def returned(s: System, job_id: JobId) -> list[JobLeaseReturned]:
    return [event for event in await s.events(job_id) if isinstance(event, JobLeaseReturned)]


def removed(s: System, uid: str) -> list[float]:
    """When a pod went."""
    return [
        one.at_s for one in s.world.trace.named("truth.pod") if one.get("uid") == uid and one.get("phase") == "Removed"
    ]


def test_the_executor_says_that_it_removes_failed_pods() -> None:
    async def scenario(s: System) -> None:
        record = await s.daemon.store.read(lambda tx: tx.executor_record(ExecutorId("E1")))
        assert record is not None
        assert "delete_action" in record.capabilities

    live(scenario)


def test_an_executor_that_does_not_remove_pods_causes_no_collision_because_nothing_is_retried_on_it() -> None:
    async def scenario(p: Play) -> None:
        p.host.contents.jobs[JOB] = job_of(run_of(1))
        p.host.contents.queues["queue-a"] = ("p",)
        p.host.policies.append(PolicyDocument("p", {"retryLimit": 3, "defaultAction": "Retry"}))
        await p.start()
        east = p.executor(capabilities=())
        await east.hello(entry_of("run-1"))
        await east.acknowledged(report_of(ReportKind.FAILED, pod_gone=False, disposition="Retain"))
        job = p.host.contents.jobs[JOB]
        assert (job.state, len(job.runs)) == (JobState.FAILED, 1)

    play(scenario, PLUGIN_ON)


def test_every_attempt_has_the_same_pod_name() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 2))
        job = await s.ended(job_id)
        events = [event for event in await s.events(job_id) if event.NAME == "pending"]
        assert len(job.runs) == len(events) == 3
        assert {getattr(event, "pod_name", "") for event in events} == {f"armada-{job_id}-0"}
        assert pod_name(job_id) == f"armada-{job_id}-0"

    live(scenario)


def test_a_retry_waits_while_the_old_pod_is_still_terminating() -> None:
    """A finalizer holds the pod for two minutes; the failure is reported as stuck, its retry is leased nowhere."""
    stuck = {
        "when": {"attempts": [1]},
        "outcome": "exit",
        "code": 1,
        "finalizer": "example.com/hold",
        "holdMs": 120_000,
    }

    async def scenario(s: System) -> None:
        job_id = await s.submit(json.dumps({"cases": [stuck, {"outcome": "succeed"}]}))
        await anyio.sleep(100)
        job = await s.job(job_id)
        uid = str(job.runs[0].pod_uid)
        assert (job.state, len(job.runs), job.hold_for_uid) == (JobState.QUEUED, 1, uid)
        job = await s.ended(job_id)
        assert (job.state, [run.returned for run in job.runs]) == (JobState.SUCCEEDED, [False, False])
        [gone_s] = removed(s, uid)
        _, second_s = [one.at_s for one in s.world.trace.named("leased")]
        assert 120 < gone_s <= second_s

    live(scenario)


def test_a_failed_pod_is_deleted_at_once_and_its_name_is_free_before_the_retry_is_leased() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 1))
        job = await s.ended(job_id)
        uid = str(job.runs[0].pod_uid)
        [gone_s] = removed(s, uid)
        [named_s] = [one.at_s for one in s.world.trace.named("pod.detect") if one.get("uid") == uid]
        leased_s = [one.at_s for one in s.world.trace.named("leased")]
        assert named_s <= gone_s < named_s + 0.1
        assert gone_s <= leased_s[1]

    live(scenario)


def test_a_category_whose_action_is_not_written_retains_its_pods() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", default="Fail")
        job_id = await s.submit(exits(9))
        job = await s.ended(job_id)
        assert job.runs[0].error is not None
        assert (job.runs[0].error.category, job.runs[0].error.disposition) == ("kept", "Retain")
        await anyio.sleep(60)
        pod = s.pod(job_id)
        assert pod is not None
        assert "deletionTimestamp" not in texts(pod, "metadata")

    unwritten = {"name": "kept", "rules": [{"onExitCodes": {"operator": "In", "values": [9]}}]}
    live(scenario, categories=(unwritten,))  # type: ignore[arg-type]  # it is JSON


def test_a_retained_pod_makes_the_retry_collide() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(KEPT)
        await s.ended(job_id)
        assert [one.get("result") for one in s.calls("create")][:2] == ["done", "conflict"]
        [event] = await returned(s, job_id)
        assert event.reason.startswith(f'pods "armada-{job_id}-0" already exists')

    live(scenario)


def test_a_collision_is_recoverable_and_returns_the_lease() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(KEPT)
        job = await s.ended(job_id)
        assert [run.returned for run in job.runs] == [False, True, False]
        told = await s.told(job_id)
        assert told[5:9] == ["failed(retryable)", "leased", "lease_returned", "leased"]

    live(scenario)


def test_a_returned_lease_is_not_the_engines_to_decide() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "kept"), default="Fail", limit=1)
        job_id = await s.submit(KEPT)
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED
        gates = [(verdict["gate"], verdict["decision"], verdict["retry"]) for verdict in await s.verdicts(job_id)]
        assert gates == [("passed", "retry", True), ("lease_returned", "", True)]

    live(scenario)


def test_at_the_legacy_limit_the_job_fails_with_a_reason_that_names_the_collision() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(KEPT)
        job = await s.ended(job_id)
        assert (job.state, len(job.runs)) == (JobState.FAILED, 2)
        last = (await s.failures(job_id))[-1]
        assert (last.failure_category, last.failure_subcategory) == ("internal", "max-runs-exceeded")
        first, _, cause = last.reason.partition("\n\nFinal run error:\n")
        assert first == "Maximum number of attempts (1) reached - this job will no longer be retried"
        assert cause.startswith(f'pods "armada-{job_id}-0" already exists (the name is held by the pod of run ')

    live(scenario, retries(0))


def test_the_handling_of_a_collision_removes_the_retained_pod() -> None:
    """By its uid, and the event that is told names run and uid of what was in the way."""

    async def scenario(s: System) -> None:
        job_id = await s.submit(KEPT)
        job = await s.ended(job_id)
        uid = str(job.runs[0].pod_uid)
        assert len(removed(s, uid)) == 1
        [delete] = s.calls("delete")
        assert delete.get("uid") == uid
        [event] = await returned(s, job_id)
        assert f"pod of run {job.runs[0].run_id}, uid {uid}" in event.reason

    live(scenario)


def test_a_pod_of_somebody_else_is_never_touched() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit_where_the_name_is_taken()
        before = s.pod(job_id)
        await s.ended(job_id)
        after = s.pod(job_id)
        assert before is not None
        assert after is not None
        assert texts(before, "metadata")["uid"] == texts(after, "metadata")["uid"]
        assert s.calls("delete") == []

    live(scenario)

"""The specification's section *How a retry happens*: the path of one failure through the whole product."""

import json
from itertools import pairwise

import anyio
import pytest

from refloat_common.core.jsontypes import JsonValue
from refloat_common.core.settings import merge_trees
from refloat_host.core.queues import Queue
from refloat_scheduler.core.events import JobLeased
from refloat_scheduler.core.leases.states import OperatorAction
from refloat_scheduler.core.model import JobState
from testkit.whole.system import ENGINE_ON, System, exits, live, needs, node, rule

BOTH = {"E1": (node("n1"),), "E2": (node("n2"),)}
SHORT_LEASE = merge_trees([ENGINE_ON, {"executorTimeout": "2m"}])


def place(s: System, what: str, **values: str) -> int:
    """Where the first record of a kind with these values stands in the trace."""
    for number, record in enumerate(s.world.trace.records):
        if record.what == what and values.items() <= dict(record.values).items():
            return number
    raise AssertionError(f"no {what} with {values}\n{s.world.trace.text()}")


@pytest.mark.parametrize(
    ("script", "category"),
    [(needs("1Gi"), ("oom", "")), (exits(21), ("gpu", "transient")), ("disrupted", ("internal", "node-failure"))],
    ids=["oom", "gpu", "node"],
)
def test_the_executor_names_what_a_pod_died_of(script: str, category: tuple[str, str]) -> None:
    async def scenario(s: System) -> None:
        await s.queue("plain")
        job = await s.ended(await s.submit(script, queue="plain"))
        error = job.runs[0].error
        assert error is not None
        assert (error.category, error.subcategory) == category

    live(scenario)


def test_a_failed_pod_of_a_delete_category_is_deleted_and_seen_to_be_gone_before_the_report() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 1))
        run = (await s.ended(job_id)).runs[0]
        uid = str(run.pod_uid)
        named = place(s, "pod.detect", uid=uid, action="Delete", category="app")
        deleted = place(s, "kube.call", verb="delete", uid=uid)
        removed = place(s, "truth.pod", uid=uid, phase="Removed")
        looked = place(s, "kube.call", verb="get", run=str(run.run_id), result="missing")
        gone = place(s, "pod.gone", uid=uid)
        reported = place(s, "jrn.synced", run=str(run.run_id), report="failed")
        assert named < removed < deleted < looked < gone < reported  # a call is noted with its answer

    live(scenario)


def test_the_next_attempt_finds_the_pods_name_free() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 2))
        job = await s.ended(job_id)
        assert len({run.pod_uid for run in job.runs}) == len(job.runs) == 3
        assert {run.error.pod for run in job.runs if run.error} == {f"armada-{job_id}-0"}
        assert not any(run.returned for run in job.runs)
        assert [one.get("result") for one in s.calls("create")] == ["done"] * 3

    live(scenario)


def test_the_report_carries_the_category_byte_for_byte() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(4))
        job = await s.ended(job_id)
        error = job.runs[0].error
        assert error is not None
        assert (error.category, error.subcategory) == ("Ärger ", "Sub/Kategorie")

    rules: JsonValue = [{"onExitCodes": {"operator": "In", "values": [4]}, "subcategory": "Sub/Kategorie"}]
    live(scenario, categories=({"name": "Ärger ", "action": "Delete", "rules": rules},))


def test_the_policy_of_the_jobs_queue_decides_with_its_first_matching_rule() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Fail", "oom"), rule("Retry", "gpu", "transient"), rule("Fail", "gpu"), default="Fail")
        job_id = await s.submit(exits(21, 1))
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED
        [verdict] = await s.verdicts(job_id)
        assert (verdict["policy"], verdict["rule_index"], verdict["category"]) == ("p", 1, "gpu")

    live(scenario)


def test_a_retry_is_the_same_job_with_a_new_run_and_the_rules_mutations() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "oom", resources={"memory": {"factor": 2.0}}), default="Fail")
        job_id = await s.submit(needs("100Mi"), memory="64Mi")
        job = await s.ended(job_id)
        assert (job.state, job.job_id) == (JobState.SUCCEEDED, job_id)
        assert len({run.run_id for run in job.runs}) == 2
        assert {event.job_id for event in await s.events(job_id)} == {job_id}
        pod = s.pod(job_id)
        assert pod is not None
        assert '"memory":"128Mi"' in json.dumps(pod, separators=(",", ":"))

    live(scenario)


@pytest.mark.parametrize(
    ("rules", "limit", "reason"),
    [
        ((rule("Fail", "gpu"),), 3, "matched rule: Fail"),
        ((rule("Retry", "gpu"),), 1, "policy retry limit exceeded (1/1)"),
    ],
    ids=["fail", "exhausted"],
)
def test_a_fail_verdict_or_an_exhausted_budget_ends_the_job_with_its_category(
    rules: tuple[dict[str, object], ...], limit: int, reason: str
) -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", *rules, limit=limit)  # type: ignore[arg-type]  # rules are JSON
        job_id = await s.submit(exits(21))
        assert (await s.ended(job_id)).state is JobState.FAILED
        last = (await s.failures(job_id))[-1]
        assert (last.retryable, last.failure_category, last.failure_subcategory) == (False, "gpu", "transient")
        assert last.reason.startswith(f"Retry policy: {reason}\n")

    live(scenario)


def test_a_retried_failure_is_told_as_retryable_and_followed_by_the_new_run() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 2))
        job = await s.ended(job_id)
        events = await s.events(job_id)
        for run, following in pairwise(job.runs):
            place = next(i for i, event in enumerate(events) if event.NAME == "failed" and event.run_id == run.run_id)
            after = events[place + 1]
            assert getattr(events[place], "retryable", None) is True
            assert isinstance(after, JobLeased)
            assert after.run_id == following.run_id
            assert [event.run_id for event in events[place + 1 : place + 4]] == [following.run_id] * 3

    live(scenario)


def test_a_terminal_failure_is_a_normal_failed_event_with_all_that_is_known_of_the_pod() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", default="Fail")
        job_id = await s.submit(exits(1))
        job = await s.ended(job_id)
        run, [event] = job.runs[0], await s.failures(job_id)
        assert (event.retryable, event.cluster_id, event.kubernetes_id) == (False, "E1", run.pod_uid)
        assert (event.pod_name, event.pod_namespace, event.node_name) == (f"armada-{job_id}-0", "default", run.node)
        assert run.node
        [container] = event.container_statuses
        assert (container.name, container.exit_code) == ("main", 1)
        assert (await s.events(job_id))[-1] == event

    live(scenario)


def test_a_lost_executor_is_found_out_by_the_scheduler_and_goes_straight_to_the_policy() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "internal", "lease-expired"), default="Fail")
        job_id = await s.submit("run")
        job = await s.reached(job_id, lambda job: job.state is JobState.LEASED and job.runs[0].state == "running")
        lost = job.runs[0]
        s.cut(lost.executor)
        other = "E2" if lost.executor == "E1" else "E1"
        job = await s.reached(job_id, lambda job: len(job.runs) == 2)
        assert (await s.told(job_id))[5:8] == ["lease_expired", "failed(retryable)", "leased"]
        assert job.runs[1].executor == other
        [verdict] = await s.verdicts(job_id)
        assert (verdict["decision"], verdict["category"], verdict["subcategory"]) == (
            *("retry", "internal"),
            "lease-expired",
        )
        reports = [one for one in s.world.trace.named("jrn.synced") if one.get("run") == lost.run_id]
        assert [one.get("report") for one in reports] == ["pending", "running"]

    live(scenario, SHORT_LEASE, clusters=BOTH)


@pytest.mark.parametrize(("factor", "order"), [(1.0, "mine mine other other"), (3.0, "mine other other mine")])
def test_a_requeued_retry_competes_under_fair_share_like_any_job(factor: float, order: str) -> None:
    async def scenario(s: System) -> None:
        await s.daemon.queues.create(Queue(name="mine", priority_factor=factor, retry_policies=("p",)))
        await s.daemon.queues.create(Queue(name="other", priority_factor=2.0))
        slow = json.loads(exits(1, 1))
        slow["cases"][0]["afterMs"] = 3000
        jobs = [await s.submit(json.dumps(slow), queue="mine")]
        await s.reached(jobs[0], lambda job: bool(job.runs))
        jobs += [await s.submit("succeed", queue="other") for _ in range(2)]
        for job_id in jobs:
            await s.ended(job_id)
        assert await leased_queues(s) == order.split()

    live(scenario, executor={"application": {"maxRuns": 1}})


async def leased_queues(s: System) -> list[str]:
    """The queues in the order in which their jobs were leased."""
    found = [*await s.daemon.events.read("mine", "s"), *await s.daemon.events.read("other", "s")]
    messages = sorted(found, key=lambda message: message.message_id)
    return [message.event.queue for message in messages if isinstance(message.event, JobLeased)]


def test_a_requeued_retry_waits_as_long_as_it_must_and_does_not_fail_from_waiting() -> None:
    async def scenario(s: System) -> None:
        await s.daemon.queues.create(Queue(name="q", retry_policies=("p",)))
        job_id = await s.submit(exits(1, 1))
        await s.reached(job_id, lambda job: bool(job.runs))
        await s.daemon.plugin.operate(s.daemon.plugin.executors()[0].executor, OperatorAction.CORDON)
        await s.reached(job_id, lambda job: job.state is JobState.QUEUED)
        await anyio.sleep(3 * 3600)
        job = await s.job(job_id)
        assert (job.state, len(job.runs)) == (JobState.QUEUED, 1)
        await s.daemon.plugin.operate(s.daemon.plugin.executors()[0].executor, OperatorAction.UNCORDON)
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED

    live(scenario)

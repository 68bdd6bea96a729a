"""Rule 3: reads see what was applied before in the same work; and each read gives what its docstring says."""

import json
from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId, JobId, PodUid, RunId
from refloat_scheduler.conformance.samples import (
    EAST,
    NODE,
    POD,
    QUEUE,
    WEST,
    applied,
    failed,
    job_now,
    known,
    leased,
    queued,
    reading,
    record,
    view,
)
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.core.effects import (
    ClaimStored,
    Effect,
    ExecutorSaved,
    HighWaterMoved,
    JobRequeued,
    NodesSaved,
    RunChanged,
)
from refloat_scheduler.core.model import Claim, Job, JobState, MutationRecord, Run
from refloat_scheduler.core.mutations.render import render_pod_spec
from refloat_scheduler.service.contract import PolicyDocument, Transaction

pytestmark = pytest.mark.anyio
NOBODY, NOTHING = JobId("no-such-job"), RunId("no-such-run")


def requeue(job: Job, **changes: object) -> JobRequeued:
    """The job back in its queue."""
    base = JobRequeued(
        job_id=job.job_id, queued_version=job.queued_version + 1, record=job.record, requirements=job.requirements
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # the test says what it wants


async def test_marks_executors_and_nodes_are_seen_at_once(subject: Subject) -> None:
    """In the work that applied them."""

    def work(tx: Transaction) -> None:
        assert tx.high_water(EAST, record().journal) == 0
        tx.apply([HighWaterMoved(EAST, record().journal, 4)])
        assert tx.high_water(EAST, record().journal) == 4
        tx.apply([ExecutorSaved(record(WEST)), ExecutorSaved(record(EAST))])
        assert tx.executor_record(EAST) == record(EAST)
        assert list(tx.executor_records()) == [record(EAST), record(WEST)]
        tx.apply([NodesSaved(executor=EAST, upserted=(NODE,), full=True)])
        assert list(tx.nodes(EAST)) == [NODE]

    await subject.host.transact(work)


async def test_jobs_and_runs_are_seen_at_once(subject: Subject) -> None:
    """In the work that applied them, by every way that leads to them."""
    job, run = await leased(subject)
    ended = failed(run)

    def work(tx: Transaction) -> None:
        assert [found.job_id for found in tx.active_jobs(EAST, RunId(""), 10)] == [job.job_id]
        assert tx.active_counts().get(EAST) == 1
        tx.apply([RunChanged(ended), requeue(job, hold_for_uid=PodUid("uid-1"))])
        after = tx.jobs([job.job_id, NOBODY])
        assert set(after) == {job.job_id}
        assert after[job.job_id].runs == (ended,)
        assert (after[job.job_id].state, after[job.job_id].hold_for_uid) == (JobState.QUEUED, "uid-1")
        assert tx.jobs_of_runs([run.run_id, NOTHING]) == {run.run_id: after[job.job_id]}
        assert list(tx.active_jobs(EAST, RunId(""), 10)) == []
        assert tx.active_counts().get(EAST, 0) == 0
        assert list(tx.held_jobs(EAST, JobId(""), 10)) == [after[job.job_id]]
        assert list(tx.held_jobs(WEST, JobId(""), 10)) == []
        assert list(tx.leases([run.run_id])) == []

    await subject.host.transact(work)


async def test_claims_are_seen_at_once_and_with_their_job(subject: Subject) -> None:
    """Those of a job, and those of an executor, in order of run id."""
    [job] = await queued(subject)
    claims = [Claim(RunId(f"claimed-{n}"), job.job_id, EAST, PodUid(f"uid-{n}")) for n in (2, 1)]
    foreign = Claim(RunId("claimed-0"), NOBODY, WEST)

    def work(tx: Transaction) -> None:
        tx.apply([ClaimStored(claim) for claim in (*claims, foreign)])
        assert list(tx.claims(EAST)) == [claims[1], claims[0]]
        assert list(tx.claims(WEST)) == [foreign]
        assert set(tx.jobs([job.job_id])[job.job_id].claims) == set(claims)

    await subject.host.transact(work)


async def test_what_was_never_seen_is_not_there(subject: Subject) -> None:
    """Each read of nothing gives nothing."""

    def work(tx: Transaction) -> None:
        assert tx.high_water(EAST, record().journal) == 0
        assert tx.executor_record(EAST) is None
        assert list(tx.executor_records()) == []
        assert list(tx.nodes(EAST)) == []
        assert tx.jobs([NOBODY]) == {}
        assert tx.jobs_of_runs([NOTHING]) == {}
        assert list(tx.active_jobs(EAST, RunId(""), 10)) == []
        assert list(tx.held_jobs(EAST, JobId(""), 10)) == []
        assert list(tx.claims(EAST)) == []
        assert tx.queue_policies("no-such-queue") is None
        assert list(tx.leases([NOTHING])) == []

    await subject.host.transact(work)


async def test_active_jobs_come_in_pages_in_order_of_their_runs(subject: Subject) -> None:
    """Each page goes on behind the last run of the one before; runs that end in between are left out."""
    await queued(subject, 5)
    await known(subject)
    await subject.lease_round([view()])
    found = await reading(subject, lambda tx: list(tx.active_jobs(EAST, RunId(""), 500)))
    runs = [_current(job) for job in found]
    assert len(runs) == 5
    assert [run.run_id for run in runs] == sorted(run.run_id for run in runs)
    first = await reading(subject, lambda tx: list(tx.active_jobs(EAST, RunId(""), 2)))
    assert [_current(job).run_id for job in first] == [run.run_id for run in runs[:2]]
    effects: list[Effect] = [RunChanged(failed(runs[2])), requeue(found[2])]
    await applied(subject, *effects)
    rest = await reading(subject, lambda tx: list(tx.active_jobs(EAST, runs[1].run_id, 500)))
    assert [_current(job).run_id for job in rest] == [run.run_id for run in runs[3:]]


def _current(job: Job) -> Run:
    assert job.current_run is not None
    return job.current_run


async def test_queues_and_policies_are_read_as_they_were_stored(subject: Subject) -> None:
    """In order of precedence, and in order of name."""
    fail = PolicyDocument("b-policy", {"name": "b-policy", "retryLimit": 1, "defaultAction": "Fail"})
    retry = PolicyDocument(
        "a-policy",
        {"name": "a-policy", "defaultAction": "Retry", "rules": [{"action": "Fail", "onCategory": "user-error"}]},
    )
    for policy in (fail, retry):
        await subject.put_policy(policy)
    await subject.put_queue(QUEUE, ("b-policy", "a-policy"))
    assert await reading(subject, lambda tx: tx.queue_policies(QUEUE)) == ("b-policy", "a-policy")
    loaded = await subject.host.load_policies()
    assert [document.name for document in loaded] == ["a-policy", "b-policy"]
    bodies = [{"name": document.name, **document.body} for document in loaded]
    assert json.loads(json.dumps(bodies)) == json.loads(json.dumps([retry.body, fail.body]))


async def test_a_lease_carries_the_pod_with_all_that_retries_have_changed(subject: Subject) -> None:
    """Rendered from what was submitted, by `render_pod_spec`."""
    job, run = await leased(subject)
    changes = MutationRecord(memory_factor=1.5, avoid=("node-9",), version=2)
    await applied(subject, RunChanged(failed(run)), requeue(job, record=changes))
    [lease] = await subject.lease_round([view()])
    again = await job_now(subject, job.job_id)
    wanted = render_pod_spec(POD, changes, "kubernetes.io/hostname")
    assert json.loads(lease.pod_spec) == json.loads(json.dumps(wanted))
    assert (lease.run, lease.job, lease.queue, lease.job_set) == (
        _current(again).run_id,
        job.job_id,
        job.queue,
        job.job_set,
    )
    assert (lease.namespace, lease.token) == (job.namespace, _current(again).ordinal)
    offered = await reading(subject, lambda tx: list(tx.leases([RunId(lease.run), run.run_id])))
    assert offered == [lease]


async def test_executors_are_told_apart(subject: Subject) -> None:
    """What belongs to one is not shown for another."""
    await leased(subject)
    other = ExecutorId("conformance-other")

    def work(tx: Transaction) -> None:
        assert list(tx.active_jobs(other, RunId(""), 10)) == []
        assert list(tx.nodes(other)) == []
        assert tx.high_water(other, record().journal) == 0

    await subject.host.transact(work)

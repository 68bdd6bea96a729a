"""What each effect means: an upsert of a whole value, in the order given."""

import json
from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId, PodUid, RunId
from refloat_scheduler.conformance.samples import (
    EAST,
    JOURNAL,
    NODE,
    applied,
    explained,
    failed,
    job_now,
    leased,
    mark,
    marked,
    queued,
    reading,
    record,
)
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.core.effects import (
    ClaimDropped,
    ClaimStored,
    ExecutorSaved,
    HighWaterMoved,
    HoldReleased,
    JobEnded,
    JobRequeued,
    LateReported,
    NodesSaved,
    RunAdopted,
    RunChanged,
    VerdictStored,
)
from refloat_scheduler.core.model import (
    Claim,
    JobState,
    MatchExpression,
    MutationRecord,
    NodeTerm,
    Requirements,
    Run,
    RunState,
    Toleration,
)

pytestmark = pytest.mark.anyio
GROWN = Requirements(
    requests={"memory": "1536Mi", "cpu": "1"},
    limits={"memory": "1536Mi"},
    node_selector={"zone": "a"},
    node_terms=(NodeTerm((MatchExpression("kubernetes.io/hostname", "NotIn", ("node-1",)),)),),
    tolerations=(Toleration("gpu", "Exists", "", "NoSchedule"),),
)
CHANGES = MutationRecord(memory_factor=1.5, avoid=("node-1",), version=2)


async def test_a_requeued_job_waits_with_all_that_was_changed(subject: Subject) -> None:
    """State, version, record, requirements and hold; everything else stays."""
    job, run = await leased(subject)
    requeued = JobRequeued(
        job_id=job.job_id, queued_version=9, record=CHANGES, requirements=GROWN, hold_for_uid=PodUid("uid-1")
    )
    await applied(subject, RunChanged(failed(run)), requeued)
    assert await job_now(subject, job.job_id) == replace(
        job,
        state=JobState.QUEUED,
        queued_version=9,
        record=CHANGES,
        requirements=GROWN,
        hold_for_uid=PodUid("uid-1"),
        runs=(failed(run),),
    )
    await applied(subject, HoldReleased(job.job_id))
    assert (await job_now(subject, job.job_id)).hold_for_uid == ""


@pytest.mark.parametrize("state", [state for state in JobState if state.ended])
async def test_an_ended_job_has_its_state_and_time_and_no_hold(subject: Subject, state: JobState) -> None:
    """In whatever way it ended."""
    job, run = await leased(subject)
    held = JobRequeued(
        job_id=job.job_id,
        queued_version=9,
        record=job.record,
        requirements=job.requirements,
        hold_for_uid=PodUid("uid-1"),
    )
    await applied(subject, RunChanged(failed(run)), held, JobEnded(job.job_id, state, 77))
    after = await job_now(subject, job.job_id)
    assert (after.state, after.ended_at_ms, after.hold_for_uid) == (state, 77, "")


async def test_an_adopted_run_takes_its_job(subject: Subject) -> None:
    """The job is leased by it; a hold has no more meaning."""
    [job] = await queued(subject)
    run = Run(run_id=RunId("adopted"), job_id=job.job_id, ordinal=1, executor=EAST, acknowledged=True, attempted=True)
    claim = Claim(run.run_id, job.job_id, EAST)
    await applied(subject, ClaimStored(claim))
    await applied(subject, RunAdopted(run, 4), ClaimDropped(run.run_id))
    after = await job_now(subject, job.job_id)
    assert (after.state, after.queued_version, after.runs, after.claims) == (JobState.LEASED, 4, (run,), ())
    assert after.current_run == run


async def test_every_field_of_a_run_is_kept(subject: Subject) -> None:
    """And that of its error."""
    job, run = await leased(subject)
    for state in RunState:
        changed = replace(
            failed(run), state=state, preempted=True, returned=True, pod_uid=PodUid("uid-9"), running_at_ms=8
        )
        await applied(subject, RunChanged(changed))
        assert (await job_now(subject, job.job_id)).runs == (changed,)


async def test_claims_are_replaced_and_dropped_by_run_id(subject: Subject) -> None:
    """Dropping one that is not there does no harm."""
    [job] = await queued(subject)
    first = Claim(RunId("claimed"), job.job_id, EAST)
    second = replace(first, pod_uid=PodUid("uid-2"))
    await applied(subject, ClaimStored(first), ClaimStored(second), ClaimDropped(RunId("another")))
    assert await reading(subject, lambda tx: list(tx.claims(EAST))) == [second]
    await applied(subject, ClaimDropped(first.run_id))
    assert await reading(subject, lambda tx: list(tx.claims(EAST))) == []


async def test_executors_are_replaced_by_name(subject: Subject) -> None:
    """Whole."""
    await applied(subject, ExecutorSaved(record()))
    plain = replace(record(), cordoned=False, decommissioned=False, capabilities=(), last_epoch=4)
    await applied(subject, ExecutorSaved(plain))
    assert await reading(subject, lambda tx: list(tx.executor_records())) == [plain]


async def test_nodes_are_added_changed_removed_and_replaced(subject: Subject) -> None:
    """In order of name; `full` forgets all that was known before."""
    second = NODE.model_copy(update={"name": "node-2"})
    smaller = second.model_copy(update={"allocatable": {"memory": "1Gi"}})

    async def after(saved: NodesSaved) -> list[str]:
        await applied(subject, saved)
        nodes = await reading(subject, lambda tx: list(tx.nodes(EAST)))
        return [f"{node.name}:{node.allocatable['memory']}" for node in nodes]

    assert await after(NodesSaved(executor=EAST, upserted=(second, NODE))) == ["node-1:64Gi", "node-2:64Gi"]
    assert await after(NodesSaved(executor=EAST, upserted=(smaller,))) == ["node-1:64Gi", "node-2:1Gi"]
    assert await after(NodesSaved(executor=EAST, removed=("node-1", "node-9"))) == ["node-2:1Gi"]
    assert await after(NodesSaved(executor=EAST, upserted=(NODE,), full=True)) == ["node-1:64Gi"]
    assert await after(NodesSaved(executor=EAST, full=True)) == []


async def test_marks_are_kept_for_each_executor_and_journal(subject: Subject) -> None:
    """A new journal begins at nothing."""
    await applied(subject, mark(3), HighWaterMoved(ExecutorId("conformance-west"), JOURNAL, 8), mark(5))
    assert await marked(subject) == 5
    assert await marked(subject, ExecutorId("conformance-west")) == 8


async def test_a_verdict_is_kept_word_for_word(subject: Subject) -> None:
    """It must be possible to compute it again."""
    job, run = await leased(subject)
    await applied(subject, VerdictStored(explained(run)))
    stored = await subject.verdict_of(job.job_id, run.run_id)
    assert json.loads(json.dumps(stored)) == json.loads(json.dumps(explained(run).to_json()))


async def test_late_reports_are_kept_in_order(subject: Subject) -> None:
    """Also about runs that nobody knows."""
    run_id = RunId("unknown")
    late = LateReported(
        run_id=run_id, job_id=(await queued(subject))[0].job_id, executor=EAST, kind="failed", why="x", reported_at_ms=1
    )
    later = replace(late, kind="succeeded", reported_at_ms=2)
    await applied(subject, late, later)
    assert list(await subject.late_reports_of(run_id)) == [late, later]

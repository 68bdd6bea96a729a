"""Jobs, runs and effects to try a host with."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import NodeFacts
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.core.effects import Effect, ExecutorRecord, ExecutorSaved, HighWaterMoved, NodesSaved
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.core.explanation import Explanation, Gate, MutationChange, RuleLook
from refloat_scheduler.core.leases.states import ExecutorState
from refloat_scheduler.core.model import ErrorKind, Job, Run, RunError, RunState
from refloat_scheduler.service.contract import ExecutorView, Transaction

T = TypeVar("T")

EAST, WEST = ExecutorId("conformance-east"), ExecutorId("conformance-west")
JOURNAL = JournalId("conformance-journal")
QUEUE, JOB_SET = "conformance", "set-1"
LABEL = "kubernetes.io/hostname"
_AMOUNTS: JsonObject = {"cpu": "1", "memory": "1Gi"}
POD: JsonObject = {
    "containers": [{"name": "main", "image": "busybox", "resources": {"requests": _AMOUNTS, "limits": _AMOUNTS}}]
}
NODE = NodeFacts(name="node-1", labels={LABEL: "node-1"}, allocatable={"cpu": "8", "memory": "64Gi"})


def mark(seq: int, executor: ExecutorId = EAST) -> HighWaterMoved:
    """The smallest effect that can be seen."""
    return HighWaterMoved(executor, JOURNAL, seq)


async def marked(subject: Subject, executor: ExecutorId = EAST) -> int:
    """How far the journal is applied."""
    return await subject.host.transact(lambda tx: tx.high_water(executor, JOURNAL))


async def applied(subject: Subject, *effects: Effect) -> None:
    """Store effects in one transaction."""
    await subject.host.transact(lambda tx: tx.apply(effects))


async def reading(subject: Subject, read: Callable[[Transaction], T]) -> T:
    """What a transaction that changes nothing sees."""
    return await subject.host.transact(read)


async def job_now(subject: Subject, job_id: JobId) -> Job:
    """A job as it is stored."""
    return await subject.host.transact(lambda tx: tx.jobs([job_id])[job_id])


def record(executor: ExecutorId = EAST, **changes: object) -> ExecutorRecord:
    """An executor as it is stored."""
    base = ExecutorRecord(
        executor=executor,
        last_epoch=3,
        pool="pool-a",
        journal=JOURNAL,
        capabilities=("delete_action", "other"),
        node_id_label=LABEL,
        cordoned=True,
        decommissioned=True,
        last_seen_at_ms=5,
        runs_expired_at_ms=6,
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # the caller says what it wants


async def known(subject: Subject, executor: ExecutorId = EAST) -> None:
    """Make an executor known, with one large node."""
    saved = ExecutorSaved(ExecutorRecord(executor=executor, capabilities=("delete_action",)))
    await applied(subject, saved, NodesSaved(executor=executor, upserted=(NODE,), full=True))


def view(executor: ExecutorId = EAST, *, may_lease: bool = True, free_slots: int = 100) -> ExecutorView:
    """An executor as the plugin shows it."""
    return ExecutorView(
        executor=executor,
        state=ExecutorState.LIVE if may_lease else ExecutorState.SILENT,
        may_lease=may_lease,
        free_slots=free_slots,
        unacknowledged=0,
        pool="default",
        cordoned=False,
        decommissioned=False,
        silent_for_s=0.0,
        why_not="" if may_lease else "silent",
    )


async def queued(subject: Subject, count: int = 1, job_set: str = JOB_SET) -> Sequence[Job]:
    """So many new jobs in a queue without policies, in order of submission."""
    await subject.put_queue(QUEUE, ())
    ids = [await subject.submit(QUEUE, job_set, POD) for _ in range(count)]
    found = await subject.host.transact(lambda tx: tx.jobs(ids))
    return [found[job_id] for job_id in ids]


async def leased(subject: Subject, executor: ExecutorId = EAST) -> tuple[Job, Run]:
    """A new job that the host itself has leased to an executor."""
    [job] = await queued(subject)
    await known(subject, executor)
    await subject.lease_round([view(executor)])
    job = await job_now(subject, job.job_id)
    run = job.current_run
    assert run is not None, "the host leased nothing although an executor may lease and a job waits"
    return job, run


def failed(run: Run) -> Run:
    """The run, ended in failure."""
    error = RunError(
        kind=ErrorKind.POD_ERROR, category="oom", subcategory="kernel", message="killed", disposition="Delete"
    )
    changes = {"acknowledged": True, "attempted": True, "node": "node-1", "node_label": "node-1"}
    return replace(run, state=RunState.FAILED, error=error, ended_at_ms=9, **changes)  # type: ignore[arg-type]  # fields of a run


def explained(run: Run, reason: str = "matched rule: Retry") -> Explanation:
    """The verdict over a run."""
    return Explanation(
        run_id=run.run_id,
        job_id=run.job_id,
        retry=True,
        gate=Gate.PASSED,
        decision="retry",
        reason=reason,
        policy="p",
        policy_hash="0f",
        rules=(RuleLook(0, "Retry", "oom", ""),),
        mutations=(MutationChange(kind="memory", before="1Gi", after="2Gi", probe=True),),
    )


def told(job: Job, number: int, run: RunId | None = None) -> JobFailed:
    """An event that can be told apart by its number."""
    return JobFailed(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=number,
        run_id=run or RunId(""),
        reason=f"number {number}",
        retryable=True,
    )

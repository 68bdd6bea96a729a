"""The smallest host: a store of dictionaries, whose transactions either happen whole or not at all.

It says what each effect means, in the plainest way; another host must come to the same.
"""

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar, assert_never

import msgspec

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Lease, NodeFacts
from refloat_scheduler.core.effects import (
    ClaimDropped,
    ClaimStored,
    Effect,
    EventsAppended,
    ExecutorRecord,
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
from refloat_scheduler.core.events import Event
from refloat_scheduler.core.explanation import Explanation
from refloat_scheduler.core.model import NO_UID, Claim, Job, JobState, Run
from refloat_scheduler.core.mutations.render import render_pod_spec
from refloat_scheduler.service.contract import Notice, PolicyDocument, StoreUnavailable

T = TypeVar("T")

NODE_ID_LABEL = "kubernetes.io/hostname"


@dataclass(slots=True)
class Contents:
    """Everything that is stored."""

    jobs: dict[JobId, Job] = field(default_factory=dict)
    claims: dict[RunId, Claim] = field(default_factory=dict)
    queues: dict[str, tuple[str, ...]] = field(default_factory=dict)
    executors: dict[ExecutorId, ExecutorRecord] = field(default_factory=dict)
    nodes: dict[ExecutorId, dict[str, NodeFacts]] = field(default_factory=dict)
    marks: dict[tuple[ExecutorId, JournalId], int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    verdicts: dict[RunId, Explanation] = field(default_factory=dict)
    late: list[LateReported] = field(default_factory=list)
    specs: dict[JobId, JsonObject] = field(default_factory=dict)

    def copied(self) -> "Contents":
        """A copy that may be changed; what is in it are values, which are never changed themselves."""
        return Contents(**{part.name: copy.copy(getattr(self, part.name)) for part in fields(self)})


class MemoryTransaction:
    """One transaction on a copy of the contents."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents

    def high_water(self, executor: ExecutorId, journal: JournalId) -> int:
        """See the contract."""
        return self.contents.marks.get((executor, journal), 0)

    def executor_records(self) -> Sequence[ExecutorRecord]:
        """See the contract."""
        return [self.contents.executors[name] for name in sorted(self.contents.executors)]

    def executor_record(self, executor: ExecutorId) -> ExecutorRecord | None:
        """See the contract."""
        return self.contents.executors.get(executor)

    def nodes(self, executor: ExecutorId) -> Sequence[NodeFacts]:
        """See the contract."""
        known = self.contents.nodes.get(executor, {})
        return [known[name] for name in sorted(known)]

    def jobs(self, job_ids: Sequence[JobId]) -> Mapping[JobId, Job]:
        """See the contract."""
        return {job_id: self._job(job_id) for job_id in job_ids if job_id in self.contents.jobs}

    def jobs_of_runs(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Job]:
        """See the contract."""
        owner = {run.run_id: job.job_id for job in self.contents.jobs.values() for run in job.runs}
        return {run_id: self._job(owner[run_id]) for run_id in run_ids if run_id in owner}

    def active_jobs(self, executor: ExecutorId, after: RunId, limit: int) -> Sequence[Job]:
        """See the contract."""
        active = {
            run.run_id: job.job_id
            for job in self.contents.jobs.values()
            if (run := job.current_run) is not None and run.executor == executor and run.run_id > after
        }
        return [self._job(active[run_id]) for run_id in sorted(active)[:limit]]

    def held_jobs(self, executor: ExecutorId, after: JobId, limit: int) -> Sequence[Job]:
        """See the contract."""
        held = [
            job_id
            for job_id, job in self.contents.jobs.items()
            if job.hold_for_uid and job_id > after and job.runs and job.runs[-1].executor == executor
        ]
        return [self._job(job_id) for job_id in sorted(held)[:limit]]

    def claims(self, executor: ExecutorId) -> Sequence[Claim]:
        """See the contract."""
        return [claim for _, claim in sorted(self.contents.claims.items()) if claim.executor == executor]

    def active_counts(self) -> Mapping[ExecutorId, int]:
        """See the contract."""
        counts: dict[ExecutorId, int] = {}
        for job in self.contents.jobs.values():
            if (run := job.current_run) is not None:
                counts[run.executor] = counts.get(run.executor, 0) + 1
        return counts

    def queue_policies(self, queue: str) -> tuple[str, ...] | None:
        """See the contract."""
        return self.contents.queues.get(queue)

    def leases(self, run_ids: Sequence[RunId]) -> Sequence[Lease]:
        """See the contract; a job that was put here without a pod spec has an empty one."""
        found = self.jobs_of_runs(run_ids)
        return [
            Lease(run_id, job.job_id, job.queue, job.job_set, job.namespace, self._pod(job), token=run.ordinal)
            for run_id, job in found.items()
            if (run := job.current_run) is not None and run.run_id == run_id
        ]

    def apply(self, effects: Sequence[Effect]) -> None:
        """See the contract."""
        for effect in effects:
            self._apply(effect)

    def _pod(self, job: Job) -> bytes:
        spec = self.contents.specs.get(job.job_id, {})
        return msgspec.json.encode(render_pod_spec(spec, job.record, NODE_ID_LABEL))

    def _job(self, job_id: JobId) -> Job:
        """A job as it is handed out: with its claims."""
        claims = tuple(claim for _, claim in sorted(self.contents.claims.items()) if claim.job_id == job_id)
        return replace(self.contents.jobs[job_id], claims=claims)

    def _change(self, job_id: JobId, **changes: object) -> None:
        self.contents.jobs[job_id] = replace(self.contents.jobs[job_id], **changes)  # type: ignore[arg-type]  # fields of a job

    def _put_run(self, run: Run) -> None:
        """Insert or replace a run, in the order of the ordinals."""
        runs = {old.ordinal: old for old in self.contents.jobs[run.job_id].runs} | {run.ordinal: run}
        self._change(run.job_id, runs=tuple(runs[ordinal] for ordinal in sorted(runs)))

    def _apply(self, effect: Effect) -> None:  # noqa: C901, PLR0912  one case per member of the union
        contents = self.contents
        match effect:
            case RunChanged(run=run):
                self._put_run(run)
            case RunAdopted(run=run):
                self._put_run(run)
                version = effect.queued_version
                self._change(run.job_id, state=JobState.LEASED, queued_version=version, hold_for_uid=NO_UID)
            case JobRequeued():
                self._change(
                    effect.job_id,
                    state=JobState.QUEUED,
                    queued_version=effect.queued_version,
                    record=effect.record,
                    requirements=effect.requirements,
                    hold_for_uid=effect.hold_for_uid,
                )
            case JobEnded():
                self._change(effect.job_id, state=effect.state, ended_at_ms=effect.ended_at_ms, hold_for_uid=NO_UID)
            case HoldReleased():
                self._change(effect.job_id, hold_for_uid=NO_UID)
            case EventsAppended():
                contents.events.extend(effect.events)
            case VerdictStored():
                explanation = effect.explanation
                assert explanation.run_id not in contents.verdicts, f"a second verdict over {explanation.run_id}"
                contents.verdicts[explanation.run_id] = explanation
            case LateReported():
                contents.late.append(effect)
            case ClaimStored(claim=claim):
                contents.claims[claim.run_id] = claim
            case ClaimDropped():
                contents.claims.pop(effect.run_id, None)
            case ExecutorSaved(record=record):
                contents.executors[record.executor] = record
            case NodesSaved():
                known = {} if effect.full else contents.nodes.get(effect.executor, {})
                known = known | {node.name: node for node in effect.upserted}
                contents.nodes[effect.executor] = {k: v for k, v in known.items() if k not in effect.removed}
            case HighWaterMoved():
                contents.marks[effect.executor, effect.journal] = effect.seq
            case _:
                assert_never(effect)


class MemoryHost:
    """The host: runs each transaction on a copy, and keeps the copy only if all went well.

    `down` makes the store refuse, `policies_down` the reading of policies alone; `loads` counts how often it was tried.
    """

    def __init__(self, policies: Sequence[PolicyDocument] = ()) -> None:
        self.contents = Contents()
        self.policies = list(policies)
        self.notices: list[Notice] = []
        self.down = False
        self.policies_down = False
        self.loads = 0

    def run(self, work: Callable[[MemoryTransaction], T]) -> T:
        """One transaction, without waiting."""
        if self.down:
            raise StoreUnavailable("it is down")
        transaction = MemoryTransaction(self.contents.copied())
        result = work(transaction)
        self.contents = transaction.contents
        return result

    def transact(self, work: Callable[[MemoryTransaction], T]) -> Awaitable[T]:
        """See the contract."""

        async def transacted() -> T:
            return self.run(work)

        return transacted()

    def load_policies(self) -> Awaitable[Sequence[PolicyDocument]]:
        """See the contract."""

        async def loaded() -> Sequence[PolicyDocument]:
            self.loads += 1
            if self.down or self.policies_down:
                raise StoreUnavailable("it is down")
            return sorted(self.policies, key=lambda document: document.name)

        return loaded()

    def notify(self, notice: Notice) -> None:
        """See the contract."""
        self.notices.append(notice)

"""What the host must store: a closed union of values, applied together with what they were computed from.

All effects of one list go into the transaction in which the state was read, in the order given, or none does.
Every effect is an upsert of a whole value, so that a host needs no arithmetic of its own.
"""

from dataclasses import dataclass
from typing import TypeAlias

from refloat_common.core.ids import ExecutorId, JobId, JournalId, PodUid, RunId
from refloat_common.core.messages import NodeFacts
from refloat_scheduler.core.events import Event
from refloat_scheduler.core.explanation import Explanation
from refloat_scheduler.core.model import NO_UID, Claim, JobState, MutationRecord, Requirements, Run

NO_JOURNAL = JournalId("")
"""The journal of an executor that has not said HELLO yet."""


@dataclass(frozen=True, slots=True)
class RunChanged:
    """Store this run as it is now (insert or replace by `run_id`)."""

    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequeued:
    """The job waits in its queue again, keeping its submit time; it does not fail from waiting.

    While `hold_for_uid` is set, no run may be made for it (see `Job.hold_for_uid`).
    """

    job_id: JobId
    queued_version: int
    record: MutationRecord
    requirements: Requirements
    hold_for_uid: PodUid = NO_UID


@dataclass(frozen=True, slots=True)
class JobEnded:
    """The job is over, in one of the ended states."""

    job_id: JobId
    state: JobState
    ended_at_ms: int


@dataclass(frozen=True, slots=True)
class HoldReleased:
    """The pod that a queued retry was held for is gone: the job may be leased."""

    job_id: JobId


@dataclass(frozen=True, slots=True)
class EventsAppended:
    """Append to the public stream, in this order, after everything appended before."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class VerdictStored:
    """Keep the explanation of the verdict over a run. At most one per run: a second one is a defect."""

    explanation: Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class LateReported:
    """A report about a run that no longer counts (fenced, or already ended). Kept for the operator only."""

    run_id: RunId
    job_id: JobId
    executor: ExecutorId
    kind: str
    why: str
    reported_at_ms: int


@dataclass(frozen=True, slots=True)
class ClaimStored:
    """An executor holds a run that the store does not know (insert or replace by `run_id`)."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class ClaimDropped:
    """The claimed run has ended, was adopted, or is held no longer."""

    run_id: RunId


@dataclass(frozen=True, slots=True)
class RunAdopted:
    """A queued job is leased to a run that an executor already holds: the run is stored, the job is LEASED by it."""

    run: Run
    queued_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorRecord:
    """What outlives a restart of what is known of an executor. Times are for display only.

    `last_epoch` is the highest fencing epoch ever given to it. `runs_expired_at_ms` is when it was last declared
    lost, 0 if it has come back since or never was.
    """

    executor: ExecutorId
    last_epoch: int = 0
    pool: str = "default"
    journal: JournalId = NO_JOURNAL
    capabilities: tuple[str, ...] = ()
    node_id_label: str = ""
    cordoned: bool = False
    decommissioned: bool = False
    last_seen_at_ms: int = 0
    runs_expired_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class ExecutorSaved:
    """Store this executor as it is now (insert or replace by name)."""

    record: ExecutorRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesSaved:
    """What is known of an executor's nodes. With `full`, `upserted` replaces everything known before."""

    executor: ExecutorId
    upserted: tuple[NodeFacts, ...] = ()
    removed: tuple[str, ...] = ()
    full: bool = False


@dataclass(frozen=True, slots=True)
class HighWaterMoved:
    """Every report of this journal up to `seq` is applied. Acknowledged only after the commit."""

    executor: ExecutorId
    journal: JournalId
    seq: int


Effect: TypeAlias = (
    RunChanged
    | JobRequeued
    | JobEnded
    | HoldReleased
    | EventsAppended
    | VerdictStored
    | LateReported
    | ClaimStored
    | ClaimDropped
    | RunAdopted
    | ExecutorSaved
    | NodesSaved
    | HighWaterMoved
)
"""Anything that a host is asked to store."""

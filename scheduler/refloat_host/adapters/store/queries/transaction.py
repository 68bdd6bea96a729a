"""One transaction, as the plugin and the host's own services see it: the contract's `Transaction` on a connection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_common.core.messages import Lease, NodeFacts
from refloat_host.adapters.store.queries import reading
from refloat_host.adapters.store.queries.effects import plan_of, write
from refloat_host.adapters.store.queries.leases import read_leases
from refloat_scheduler.core.effects import Effect, ExecutorRecord
from refloat_scheduler.core.model import Claim, Job, JobState


@dataclass(slots=True)
class Changes:
    """What others in this process must hear of once the transaction is committed.

    `streams` are the event streams (queue, job set) that grew; `queued` says that a job may have become leasable;
    `nodes` are the executors whose nodes changed.
    """

    streams: dict[tuple[str, str], None] = field(default_factory=dict)
    queued: bool = False
    nodes: dict[ExecutorId, None] = field(default_factory=dict)

    def add(self, other: "Changes") -> None:
        """Take in what another transaction of the same commit changed."""
        self.streams |= other.streams
        self.queued |= other.queued
        self.nodes |= other.nodes


class SqlTransaction:
    """The contract's `Transaction`; see there for the meaning of each method.

    The host's services reach the other query modules through `connection`.
    """

    def __init__(self, connection: Connection, node_id_label: str) -> None:
        self.connection = connection
        self._node_id_label = node_id_label
        self.changes = Changes()

    def high_water(self, executor: ExecutorId, journal: JournalId) -> int:
        """The last applied report sequence of a journal; 0 for one never seen."""
        return reading.high_water(self.connection, executor, journal)

    def executor_records(self) -> Sequence[ExecutorRecord]:
        """Every executor ever seen, in order of name."""
        return reading.executor_records(self.connection)

    def executor_record(self, executor: ExecutorId) -> ExecutorRecord | None:
        """One executor; None if it was never seen."""
        return reading.executor_record(self.connection, executor)

    def nodes(self, executor: ExecutorId) -> Sequence[NodeFacts]:
        """What is known of an executor's nodes, in order of name."""
        return reading.nodes(self.connection, executor)

    def jobs(self, job_ids: Sequence[JobId]) -> Mapping[JobId, Job]:
        """Jobs with their whole run history and their claims; unknown ids are left out."""
        return reading.read_jobs(self.connection, job_ids)

    def jobs_of_runs(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Job]:
        """For each known run, its job with the whole run history; unknown runs are left out."""
        return reading.jobs_of_runs(self.connection, run_ids)

    def active_jobs(self, executor: ExecutorId, after: RunId, limit: int) -> Sequence[Job]:
        """One page of the jobs whose current run is on this executor, in order of that run's id."""
        return reading.active_jobs(self.connection, executor, after, limit)

    def held_jobs(self, executor: ExecutorId, after: JobId, limit: int) -> Sequence[Job]:
        """One page of the queued jobs with a hold whose latest run was on this executor, in order of job id."""
        return reading.held_jobs(self.connection, executor, after, limit)

    def claims(self, executor: ExecutorId) -> Sequence[Claim]:
        """The claims of an executor, in order of run id."""
        return reading.executor_claims(self.connection, executor)

    def active_counts(self) -> Mapping[ExecutorId, int]:
        """How many current runs each executor has; executors without any are left out."""
        return reading.active_counts(self.connection)

    def queue_policies(self, queue: str) -> tuple[str, ...] | None:
        """The names in the queue's `retry_policies`, in order; None for an unknown queue."""
        return reading.queue_policies(self.connection, queue)

    def leases(self, run_ids: Sequence[RunId]) -> Sequence[Lease]:
        """The leases of those of these runs that are current, with the pod spec rendered."""
        return read_leases(self.connection, run_ids, self._node_id_label)

    def apply(self, effects: Sequence[Effect]) -> None:
        """Store these effects, in this order."""
        plan = plan_of(effects)
        write(self.connection, plan)
        for event in plan.events:
            self.changes.streams[event.queue, event.job_set_id] = None
        self.changes.nodes |= plan.touched_nodes()
        self.changes.queued |= any(
            change.get("state", JobState.QUEUED.value) == JobState.QUEUED.value for change in plan.jobs.values()
        )

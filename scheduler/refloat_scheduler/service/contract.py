"""What a host and the plugin promise one another.

A host owns the store, the queues and the choice of who runs next. The plugin owns the link to the executors, the
retry decisions and the lease expiry. They meet in three Protocols: `Host` and `Transaction`, which a host implements,
and `Scheduler`, which the plugin implements for the host.

Rules of a transaction
----------------------
1. `work` runs synchronously, alone, on a consistent view: no other transaction commits between its reads and its
   writes. It never awaits, and it may run again from the start if the host has to retry it, so it changes nothing
   outside of what it returns.
2. Everything passed to `apply` inside one `work` commits together with everything else in it, durably (it survives
   kill -9 and power loss), before `transact` returns. If `work` raises, nothing is applied and its exception comes
   out of `transact` unchanged.
3. Reads after `apply` in the same `work` see what was applied.
4. If the store can't commit now, `transact` raises `StoreUnavailable` and nothing was applied. If the outcome of the
   commit is unknown, the host must find out before it answers; it may not guess.
5. Only one scheduler writes: a host with several machines checks its leader epoch inside every transaction and raises
   `StoreUnavailable` once it is no longer the leader.
6. Verdicts are unique per run (`VerdictStored`), runs per `run_id`; a host should let the store enforce it.
7. The host's own changes (submitting, leasing, cancelling) are transactions of the same kind. A run is made only for a
   job whose `leasable` is true, on an executor whose `may_lease` was true when asked, with a fresh random run id and
   the next ordinal, together with the event `JobLeased` and `queued_version + 1`.
8. Order of events is order of commit, then order of appending.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Lease, NodeFacts
from refloat_scheduler.core.effects import Effect, ExecutorRecord
from refloat_scheduler.core.leases.states import ExecutorState, OperatorAction
from refloat_scheduler.core.model import Claim, Job

T = TypeVar("T")


class StoreUnavailable(Exception):  # noqa: N818  named by its condition
    """The store cannot commit now. Nothing was applied; the caller may try again later."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the store cannot commit now: {why}")


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """A retry policy as it is stored: its name and its body in the API's JSON form (camelCase keys)."""

    name: str
    body: JsonObject


class Transaction(Protocol):
    """One transaction, as `work` sees it. All methods are synchronous."""

    def high_water(self, executor: ExecutorId, journal: JournalId) -> int:
        """The last applied report sequence of a journal; 0 for one never seen."""

    def executor_records(self) -> Sequence[ExecutorRecord]:
        """Every executor ever seen, in order of name."""

    def executor_record(self, executor: ExecutorId) -> ExecutorRecord | None:
        """One executor; None if it was never seen."""

    def nodes(self, executor: ExecutorId) -> Sequence[NodeFacts]:
        """What is known of an executor's nodes, in order of name; kept while the executor is silent."""

    def jobs(self, job_ids: Sequence[JobId]) -> Mapping[JobId, Job]:
        """Jobs with their whole run history and their claims; unknown ids are left out."""

    def jobs_of_runs(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Job]:
        """For each known run, its job with the whole run history; unknown runs are left out."""

    def active_jobs(self, executor: ExecutorId, after: RunId, limit: int) -> Sequence[Job]:
        """One page of the jobs whose current run is on this executor, in order of that run's id.

        The first page is asked for with an empty `after`, each next one with the last run id seen. `limit` is at
        most 500. A run that has ended between two pages is simply not there any more.
        """

    def held_jobs(self, executor: ExecutorId, after: JobId, limit: int) -> Sequence[Job]:
        """One page of the queued jobs with a hold whose latest run was on this executor, in order of job id.

        Asked for when the executor is given up: nobody is left who could say that the old pod is gone. Pages as in
        `active_jobs`.
        """

    def claims(self, executor: ExecutorId) -> Sequence[Claim]:
        """The claims of an executor, in order of run id: a handful after a restore, none else."""

    def active_counts(self) -> Mapping[ExecutorId, int]:
        """How many current runs each executor has; executors without any may be left out."""

    def queue_policies(self, queue: str) -> tuple[str, ...] | None:
        """The names in the queue's `retry_policies`, in order; None for an unknown queue."""

    def leases(self, run_ids: Sequence[RunId]) -> Sequence[Lease]:
        """The leases of those of these runs that are current, with the pod spec rendered by `render_pod_spec`.

        Asked for when a lease must be offered again after a restart. The only place where the raw pod spec is read.
        """

    def apply(self, effects: Sequence[Effect]) -> None:
        """Store these effects, in this order. See `effects` for the meaning of each."""


@dataclass(frozen=True, slots=True)
class JobsRequeued:
    """Jobs are waiting in these queues that were not before."""

    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoomChanged:
    """An executor takes more runs than it did: it is live again, a run ended, or a node came."""

    executor: ExecutorId


Notice: TypeAlias = JobsRequeued | RoomChanged
"""Why the host's leasing loop should look again now."""


class Host(Protocol):
    """What the plugin needs of whatever it is loaded into."""

    def transact(self, work: Callable[[Transaction], T]) -> Awaitable[T]:
        """Run `work` in one durable transaction and return what it returned, after the commit.

        Raises:
            StoreUnavailable: nothing was applied.
        """

    def load_policies(self) -> Awaitable[Sequence[PolicyDocument]]:
        """All retry policies as stored, in order of name. The plugin compiles and caches them.

        Raises:
            StoreUnavailable: they can't be read now; the plugin keeps serving the last good ones.
        """

    def notify(self, notice: Notice) -> None:
        """Wake the leasing loop; called after the commit. Returns at once, never raises, may come too often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorView:
    """One executor, as a host sees it when it decides who runs where.

    `may_lease` is the only thing to ask before a lease: live, barrier open, neither cordoned nor decommissioned, and
    fewer unacknowledged leases than the limit. `free_slots` is what the executor last said, less what was offered
    since; `silent_for_s` is None before it was first heard of.
    """

    executor: ExecutorId
    state: ExecutorState
    may_lease: bool
    free_slots: int
    unacknowledged: int
    pool: str
    cordoned: bool
    decommissioned: bool
    silent_for_s: float | None
    why_not: str = ""
    """Why `may_lease` is false, for a reader."""


class Scheduler(Protocol):
    """What the plugin offers to its host."""

    def run(self) -> Awaitable[None]:
        """Serve until cancelled. The host starts it once its store is writable."""

    def executors(self) -> Sequence[ExecutorView]:
        """All known executors, in order of name: a snapshot that is stale as soon as it is returned."""

    def offer(self, executor: ExecutorId, leases: Sequence[Lease]) -> None:
        """Send leases whose runs are committed. Sent again until the executor has acknowledged them; idempotent."""

    def kill(self, executor: ExecutorId, run_ids: Sequence[RunId], reason: str) -> None:
        """Send word that these runs have ended in the store (cancelled, preempted).

        Best effort: a run that has ended in the store is killed anyhow when its executor next lists it.
        """

    def policies_changed(self) -> None:
        """The stored policies are others now: read them again soon. Without this word they are read once a period."""

    def operate(self, executor: ExecutorId, action: OperatorAction) -> Awaitable[None]:
        """Carry out an operator's order, durably, before returning.

        Raises:
            StoreUnavailable: nothing was applied.
            KeyError: no such executor.
        """

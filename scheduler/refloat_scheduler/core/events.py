"""The public event stream of a job: a closed union with the names and fields of Armada's event messages.

One class per member of Armada's `EventMessage`. Times are UTC milliseconds (`created_ms`); field names are Armada's.
`run_id` is kept beside Armada's fields for our own records; it is empty where an event belongs to no run.
Order per job: a retried failure is `JobFailed(retryable=True)` followed by nothing but the new run's `JobLeased`; one
terminal event ends the stream.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from refloat_common.core.ids import JobId, RunId
from refloat_scheduler.core.model import ContainerResult

NO_RUN = RunId("")
"""The run of an event that belongs to none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """Fields of every event; `job_set_id` and `queue` are where the stream is read from."""

    job_id: JobId
    job_set_id: str
    queue: str
    created_ms: int
    run_id: RunId = NO_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class _PodEvent(_Event):
    """Fields of the events that tell of a pod."""

    cluster_id: str = ""
    kubernetes_id: str = ""
    pod_number: int = 0
    pod_name: str = ""
    pod_namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSubmitted(_Event):
    """The job was accepted."""

    NAME: ClassVar[str] = "submitted"
    owner: str = ""
    namespace: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQueued(_Event):
    """The job entered its queue for the first time; a requeue writes no event of its own."""

    NAME: ClassVar[str] = "queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLeased(_Event):
    """A run was given to an executor."""

    NAME: ClassVar[str] = "leased"
    cluster_id: str = ""
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPending(_PodEvent):
    """The pod exists."""

    NAME: ClassVar[str] = "pending"
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRunning(_PodEvent):
    """The pod runs."""

    NAME: ClassVar[str] = "running"
    node_name: str = ""
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSucceeded(_PodEvent):
    """The job is done. Terminal."""

    NAME: ClassVar[str] = "succeeded"
    node_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailed(_PodEvent):
    """A run failed. Terminal unless `retryable`; then the new run's events follow.

    `cause` is one of Armada's causes (`taxonomy.Cause`); `reason` is the text for the user.
    """

    NAME: ClassVar[str] = "failed"
    reason: str = ""
    node_name: str = ""
    container_statuses: tuple[ContainerResult, ...] = ()
    cause: str = "Error"
    failure_category: str = ""
    failure_subcategory: str = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLeaseReturned(_Event):
    """The executor gave the run back."""

    NAME: ClassVar[str] = "lease_returned"
    cluster_id: str = ""
    reason: str = ""
    kubernetes_id: str = ""
    pod_number: int = 0
    run_attempted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLeaseExpired(_Event):
    """The run's executor was lost."""

    NAME: ClassVar[str] = "lease_expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPreempting(_Event):
    """Somebody asked for the job's preemption."""

    NAME: ClassVar[str] = "preempting"
    requestor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPreempted(_Event):
    """The run was taken off its node; a terminal `JobFailed` follows, as in Armada."""

    NAME: ClassVar[str] = "preempted"
    cluster_id: str = ""
    reason: str = ""
    requestor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCancelling(_Event):
    """Somebody asked for the job's cancellation."""

    NAME: ClassVar[str] = "cancelling"
    requestor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCancelled(_Event):
    """The job was cancelled. Terminal."""

    NAME: ClassVar[str] = "cancelled"
    requestor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReprioritizing(_Event):
    """Somebody asked for another priority."""

    NAME: ClassVar[str] = "reprioritizing"
    new_priority: int = 0
    requestor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReprioritized(_Event):
    """The job has another priority."""

    NAME: ClassVar[str] = "reprioritized"
    new_priority: int = 0
    requestor: str = ""


Event: TypeAlias = (
    JobSubmitted
    | JobQueued
    | JobLeased
    | JobPending
    | JobRunning
    | JobSucceeded
    | JobFailed
    | JobLeaseReturned
    | JobLeaseExpired
    | JobPreempting
    | JobPreempted
    | JobCancelling
    | JobCancelled
    | JobReprioritizing
    | JobReprioritized
)
"""Any event of the public stream."""

ALL_EVENTS: tuple[type[Event], ...] = (
    JobSubmitted,
    JobQueued,
    JobLeased,
    JobPending,
    JobRunning,
    JobSucceeded,
    JobFailed,
    JobLeaseReturned,
    JobLeaseExpired,
    JobPreempting,
    JobPreempted,
    JobCancelling,
    JobCancelled,
    JobReprioritizing,
    JobReprioritized,
)
"""Every class of the union, for stores that keep events by name."""


def is_terminal(event: Event) -> bool:
    """Whether nothing may follow this event in its job's stream."""
    match event:
        case JobFailed(retryable=retryable):
            return not retryable
        case JobSucceeded() | JobCancelled():
            return True
        case _:
            return False

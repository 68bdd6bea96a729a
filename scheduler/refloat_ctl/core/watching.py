"""Decides what `watch` prints of a job set: a count of its jobs by state, and a line for each event (Armada's form).

A failure that is retried puts the job back among the queued ones: the job is not over.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from refloat_ctl.core.text.tables import clean

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Stage(Enum):
    """Where a job stands; the words are those of the printed line."""

    SUBMITTED = "Submitted"
    QUEUED = "Queued"
    LEASED = "Leased"
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


_SHOWN: Final = tuple(stage for stage in Stage if stage is not Stage.SUBMITTED)
_OVER: Final = frozenset({Stage.SUCCEEDED, Stage.FAILED, Stage.CANCELLED})
_STAGES: Final[Mapping[str, Stage]] = {
    "JobSubmittedEvent": Stage.SUBMITTED,
    "JobQueuedEvent": Stage.QUEUED,
    "JobLeasedEvent": Stage.LEASED,
    "JobLeaseReturnedEvent": Stage.QUEUED,
    "JobLeaseExpiredEvent": Stage.QUEUED,
    "JobPendingEvent": Stage.PENDING,
    "JobRunningEvent": Stage.RUNNING,
    "JobFailedEvent": Stage.FAILED,
    "JobSucceededEvent": Stage.SUCCEEDED,
    "JobCancelledEvent": Stage.CANCELLED,
}
"""The stage that an event puts its job in. Events that are not here leave it where it is."""

_SILENT: Final = frozenset({"JobUtilisationEvent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What `watch` needs of an event. `created_s` is seconds since 1970; `pod` is None for events without a pod."""

    name: str
    job_id: str
    created_s: int
    cluster: str = ""
    namespace: str = ""
    pod: int | None = None
    reason: str = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class _Watched:
    stage: Stage
    cluster: str = ""
    namespace: str = ""


class Board:
    """The jobs of a job set as its events tell."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Watched] = {}
        self._counts: Counter[Stage] = Counter()

    @property
    def inactive(self) -> bool:
        """Whether all jobs seen are over."""
        return sum(self._counts.values()) == sum(self._counts[stage] for stage in _OVER)

    def see(self, event: Seen) -> str:
        """Take an event in; the lines that it prints, each with a line feed at its end."""
        job = self._moved(event)
        if event.name in _SILENT:
            return ""
        lines = f"{stamp(event.created_s)} | {self._summary()} | {event.name}, job id: {event.job_id}"
        lines += f" pod: {event.pod}\n" if event.pod is not None else "\n"
        if event.name == "JobFailedEvent":
            lines += f"Job failed: {clean(event.reason)}\n{_where_logs_are(job, event)}\n"
        return lines

    def _moved(self, event: Seen) -> _Watched:
        old = self._jobs.get(event.job_id)
        job = old or _Watched(Stage.SUBMITTED)
        stage = _STAGES.get(event.name, job.stage)
        if stage is Stage.FAILED and event.retryable:
            stage = Stage.QUEUED
        job = replace(
            job, stage=stage, cluster=event.cluster or job.cluster, namespace=event.namespace or job.namespace
        )
        self._counts[job.stage] += 1
        if old is not None:
            self._counts[old.stage] -= 1
        self._jobs[event.job_id] = job
        return job

    def _summary(self) -> str:
        return ", ".join(f"{stage.value}: {self._counts[stage]:3}" for stage in _SHOWN)


def stamp(seconds: int) -> str:
    """A point in time as Go's `time.Stamp` has it, UTC: `Nov  3 14:07:57`."""
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{_MONTHS[at.month - 1]} {at.day:2} {at:%H:%M:%S}"


def _where_logs_are(job: _Watched, event: Seen) -> str:
    if not job.cluster:
        return "Found no logs for job"
    pod = f"armada-{event.job_id}-{event.pod or 0}"
    # Armada never closes this quote; whoever reads its lines knows them so.
    return f"Found no logs for job; try 'kubectl --context {job.cluster} -n {job.namespace} logs {pod} --tail=50"

"""Jobs, runs and events for tests of the host, each with as little said as possible."""

from collections.abc import Sequence
from typing import TypeVar

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_host.adapters.store.database import Database, Done, Raised, Work
from refloat_host.adapters.store.queries.jobs import add_jobs
from refloat_host.core.grants import grant
from refloat_scheduler.core.effects import Effect
from refloat_scheduler.core.events import JobQueued
from refloat_scheduler.core.model import Job, Run

T = TypeVar("T")

EXECUTOR = ExecutorId("east")


def pod_spec(memory: str = "1Gi", cpu: str = "1", **more: JsonValue) -> JsonObject:
    """A pod of one container that asks for this much."""
    resources: JsonObject = {"requests": {"memory": memory, "cpu": cpu}, "limits": {"memory": memory, "cpu": cpu}}
    return {"containers": [{"name": "main", "image": "busybox", "resources": resources}], **more}


def job(number: int, *, queue: str = "q", job_set: str = "s", priority: int = 0, submitted_at_ms: int = 0) -> Job:
    """Job `job-NNN`, queued."""
    return Job(
        job_id=JobId(f"job-{number:03}"),
        queue=queue,
        job_set=job_set,
        priority=priority,
        submitted_at_ms=submitted_at_ms,
    )


def run(number: int, of: Job, *, ordinal: int = 1, executor: ExecutorId = EXECUTOR) -> Run:
    """Run `run-NNN` of a job, just leased."""
    return Run(run_id=RunId(f"run-{number:03}"), job_id=of.job_id, ordinal=ordinal, executor=executor)


def queued(of: Job) -> JobQueued:
    """The event that a job was queued."""
    return JobQueued(job_id=of.job_id, job_set_id=of.job_set, queue=of.queue, created_ms=1)


def leased(of: Job, run_number: int, executor: ExecutorId = EXECUTOR) -> tuple[Effect, ...]:
    """The effects of a lease of this job as `run-NNN`."""
    return grant(of, RunId(f"run-{run_number:03}"), executor, "default", 5)


def stored(database: Database, jobs: Sequence[Job], spec: str = "{}") -> None:
    """Put jobs into the store, all with the same pod spec."""
    done(database, lambda tx: add_jobs(tx.connection, [(each, spec, "") for each in jobs]))


def applied(database: Database, effects: Sequence[Effect]) -> None:
    """Store effects in one transaction."""
    done(database, lambda tx: tx.apply(effects))


def done(database: Database, work: Work[T]) -> T:
    """The value of a work that must not fail."""
    [outcome], _ = database.execute([work])
    match outcome:
        case Done(value=value):
            return value
        case Raised(error=error):
            raise error

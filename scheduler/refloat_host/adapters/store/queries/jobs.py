"""Jobs as users see them: stored, found again, given another priority."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, exists, func, select, update

from refloat_common.core.ids import JobId
from refloat_common.core.jsontypes import JsonObject
from refloat_host.adapters.store.queries.effects import append
from refloat_host.adapters.store.queries.reading import ACTIVE, pages, read_jobs
from refloat_host.adapters.store.queries.rows import Values, job_values, spec_values
from refloat_host.adapters.store.queries.waiting import LEASED, QUEUED
from refloat_host.adapters.store.tables import client_ids, executors, job_specs, jobs, queues, runs
from refloat_scheduler.core.model import Job


class _Classified(msgspec.Struct):
    """Of a pod spec, what an order can select by."""

    priorityClassName: str | None = None  # noqa: N815  Kubernetes' name


_classified = msgspec.json.Decoder(_Classified)
_object: msgspec.json.Decoder[JsonObject] = msgspec.json.Decoder()


def add_jobs(connection: Connection, new: Sequence[tuple[Job, str, str]]) -> None:
    """Store new jobs, each with its pod spec's text and its client's id for it (empty: none)."""
    append(connection, jobs, [job_values(job) for job, _, _ in new])
    append(connection, job_specs, [spec_values(job, spec) for job, spec, _ in new])
    named: list[Values] = [
        {"queue": job.queue, "client_id": client_id, "job_id": job.job_id} for job, _, client_id in new if client_id
    ]
    append(connection, client_ids, named)


def jobs_of_clients(connection: Connection, queue: str, ids: Sequence[str]) -> dict[str, JobId]:
    """For each client's id that is known in a queue, the job it stands for."""
    found: dict[str, JobId] = {}
    for page in pages(sorted(set(ids))):
        query = select(client_ids).where(client_ids.c.queue == queue, client_ids.c.client_id.in_(page))
        found |= {row.client_id: JobId(row.job_id) for row in connection.execute(query)}
    return found


def set_priority(connection: Connection, job_ids: Sequence[JobId], priority: int) -> None:
    """Give jobs another priority."""
    for page in pages(list(job_ids)):
        connection.execute(update(jobs).where(jobs.c.job_id.in_(page)).values(priority=priority))


def unfinished(connection: Connection, queue: str, job_set: str = "") -> list[JobId]:
    """All jobs that are not over, of a queue or of one job set in it, in order of id.

    The job set is compared in a form that no index has: walking through the queue's unfinished jobs is shorter than
    through everything that a job set ever ran.
    """
    found: list[JobId] = []
    for state in (QUEUED, LEASED):
        query = select(jobs.c.job_id).where(jobs.c.queue == queue, state)
        if job_set:
            query = query.where(func.coalesce(jobs.c.job_set, "") == job_set)
        found += connection.execute(query).scalars()
    return sorted(found)


def priority_classes(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, str]:
    """The `priorityClassName` of each of these jobs' pod specs; empty where there is none."""
    found: dict[JobId, str] = {}
    for page in pages(job_ids):
        query = select(job_specs.c.job_id, job_specs.c.pod_spec).where(job_specs.c.job_id.in_(page))
        for row in connection.execute(query):
            found[JobId(row.job_id)] = _classified.decode(row.pod_spec).priorityClassName or ""
    return found


def pod_specs(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, JsonObject]:
    """The pod specs of these jobs, as they were submitted."""
    found: dict[JobId, JsonObject] = {}
    for page in pages(job_ids):
        query = select(job_specs.c.job_id, job_specs.c.pod_spec).where(job_specs.c.job_id.in_(page))
        found |= {JobId(row.job_id): _object.decode(row.pod_spec) for row in connection.execute(query)}
    return found


def active_queues(connection: Connection) -> dict[str, list[str]]:
    """Pool → the queues whose jobs run there, and those whose jobs wait, which every pool may take."""
    running = select(runs.c.pool, jobs.c.queue).join_from(runs, jobs, runs.c.job_id == jobs.c.job_id).where(ACTIVE)
    found = {(row.pool, row.queue) for row in connection.execute(running.distinct())}
    waiting = select(queues.c.name).where(exists().where(jobs.c.queue == queues.c.name, QUEUED))
    pools = connection.execute(select(executors.c.pool).distinct()).scalars().all()
    found |= {(pool, queue) for queue in connection.execute(waiting).scalars() for pool in pools}
    by_pool: dict[str, list[str]] = {}
    for pool, queue in sorted(found):
        by_pool.setdefault(pool, []).append(queue)
    return by_pool


def list_jobs(connection: Connection, queue: str, job_set: str, after: JobId, limit: int) -> list[Job]:
    """A page of a job set's jobs behind `after`, in order of id; without a job set, of the queue's unfinished jobs."""
    if job_set:
        query = select(jobs.c.job_id).where(jobs.c.queue == queue, jobs.c.job_set == job_set, jobs.c.job_id > after)
        ids = list(connection.execute(query.order_by(jobs.c.job_id).limit(limit)).scalars())
    else:
        ids = [job_id for job_id in unfinished(connection, queue) if job_id > after][:limit]
    found = read_jobs(connection, ids)
    return [found[job_id] for job_id in ids]

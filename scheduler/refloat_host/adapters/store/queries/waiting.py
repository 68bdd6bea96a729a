"""Reads the jobs that may be leased, from the front of each queue's index: never the whole table."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from sqlalchemy import Connection, Select, and_, exists, func, literal, select, text, tuple_, union_all

from refloat_common.core.ids import JobId
from refloat_host.adapters.store.queries.rows import AnyRow
from refloat_host.adapters.store.tables import claims, jobs, queues
from refloat_host.core.leasing import Line, Waiting

MAX_QUEUES_PER_STATEMENT = 100
"""Parts of one UNION; SQLite takes 500."""

QUEUED = text("jobs.state = 'queued'")
"""Written exactly like the condition of the index `ix_jobs_queued`, or SQLite would not use it."""

LEASED = text("jobs.state = 'leased'")

Place: TypeAlias = tuple[int, int, str]
"""Where a job stands in its queue: priority, submit time, id."""

FRONT: Place = (-(1 << 62), 0, "")
"""Before every job."""

_ORDER = jobs.c.priority, jobs.c.submitted_at_ms, jobs.c.job_id
_FREE = and_(
    QUEUED,
    jobs.c.hold_for_uid == "",
    jobs.c.cancel_requested.is_(False),
    ~exists().where(claims.c.job_id == jobs.c.job_id),
)
"""As `Job.leasable` says it."""


def place_of(waiting: Waiting) -> Place:
    """Where a job stands in its queue."""
    return waiting.priority, waiting.submitted_at_ms, waiting.job_id


def lines(connection: Connection) -> list[Line]:
    """Every queue that is not cordoned and has a job that may be leased; `heads` still to be read."""
    runs = select(func.count()).select_from(jobs).where(LEASED, jobs.c.queue == queues.c.name).scalar_subquery()
    query = (
        select(queues.c.name, queues.c.priority_factor, runs.label("runs"))
        .where(queues.c.cordoned.is_(False), exists().where(jobs.c.queue == queues.c.name, _FREE))
        .order_by(queues.c.name)
    )
    return [
        Line(queue=row.name, priority_factor=row.priority_factor, runs=row.runs, more=True)
        for row in connection.execute(query)
    ]


def any_waiting(connection: Connection) -> bool:
    """Whether some queue that is not cordoned has a job that may be leased."""
    query = select(queues.c.name).where(
        queues.c.cordoned.is_(False), exists().where(jobs.c.queue == queues.c.name, _FREE)
    )
    return connection.execute(query.limit(1)).first() is not None


def heads(connection: Connection, after: Mapping[str, Place], limit: int) -> dict[str, tuple[Waiting, ...]]:
    """For each queue, the next jobs behind a place, at most `limit`; fewer mean that there are no more."""
    found: dict[str, list[Waiting]] = {queue: [] for queue in after}
    names = list(after)
    for start in range(0, len(names), MAX_QUEUES_PER_STATEMENT):
        part = names[start : start + MAX_QUEUES_PER_STATEMENT]
        queries = [_page(queue, after[queue], limit) for queue in part]
        for row in connection.execute(union_all(*queries) if len(queries) > 1 else queries[0]):
            found[row.queue].append(_waiting(row))
    return {queue: tuple(sorted(waiting, key=place_of)) for queue, waiting in found.items()}


def unfinished_jobs(connection: Connection, queue: str) -> int:
    """How many of a queue's jobs are queued or leased; each is counted in its own small index."""
    counts = [select(func.count()).select_from(jobs).where(jobs.c.queue == queue, state) for state in (QUEUED, LEASED)]
    return sum(int(connection.execute(count).scalar_one()) for count in counts)


def _page(queue: str, after: Place, limit: int) -> "Select[Any]":
    """A page as a query of its own, so that it can stand in a UNION with its own LIMIT."""
    page = (
        select(jobs.c.queue, *_ORDER, jobs.c.requirements)
        .where(jobs.c.queue == queue, _FREE, tuple_(*_ORDER) > tuple_(*[literal(part) for part in after]))
        .order_by(*_ORDER)
        .limit(limit)
        .subquery()
    )
    return select(page)


def _waiting(row: AnyRow) -> Waiting:
    return Waiting(JobId(row.job_id), row.priority, row.submitted_at_ms, row.requirements)

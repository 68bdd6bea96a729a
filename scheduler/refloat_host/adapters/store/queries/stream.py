"""The event stream, read from any message id on."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from refloat_common.core.ids import JobId
from refloat_host.adapters.store.queries.rows import AnyRow, event_of
from refloat_host.adapters.store.tables import events
from refloat_scheduler.core.events import Event


@dataclass(frozen=True, slots=True)
class Message:
    """One event with the id that a reader resumes after."""

    message_id: int
    event: Event


def job_set_events(connection: Connection, queue: str, job_set: str, after: int, limit: int) -> list[Message]:
    """Events of a job set with a greater id than `after`, in order; 0 is from the beginning."""
    stream = events.c.queue == queue, events.c.job_set == job_set, events.c.id > after
    query = select(events.c.id, events.c.kind, events.c.payload).where(*stream).order_by(events.c.id).limit(limit)
    return [_message(row) for row in connection.execute(query)]


def job_events(connection: Connection, job_id: JobId, after: int, limit: int) -> list[Message]:
    """Events of one job with a greater id than `after`, in order."""
    query = select(events.c.id, events.c.kind, events.c.payload).where(events.c.job_id == job_id, events.c.id > after)
    return [_message(row) for row in connection.execute(query.order_by(events.c.id).limit(limit))]


def last_id(connection: Connection) -> int:
    """The id of the newest event; 0 where there is none."""
    return int(connection.execute(select(func.max(events.c.id))).scalar() or 0)


def job_set_exists(connection: Connection, queue: str, job_set: str) -> bool:
    """Whether the job set has any event."""
    query = select(events.c.id).where(events.c.queue == queue, events.c.job_set == job_set).limit(1)
    return connection.execute(query).first() is not None


def _message(row: AnyRow) -> Message:
    return Message(row.id, event_of(row))

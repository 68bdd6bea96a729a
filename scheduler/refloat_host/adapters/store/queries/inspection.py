"""Reads what only an operator asks for: verdicts on a job's runs, reports that came late, why jobs were rejected."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, select

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_host.adapters.store.queries.rows import event_of
from refloat_host.adapters.store.tables import events, late_reports, verdicts
from refloat_scheduler.core.effects import LateReported
from refloat_scheduler.core.events import JobFailed


def verdicts_of(connection: Connection, job_id: JobId) -> dict[RunId, JsonObject]:
    """The stored explanation of each verdict on a run of this job."""
    query = select(verdicts.c.run_id, verdicts.c.explanation).where(verdicts.c.job_id == job_id)
    return {RunId(row.run_id): json.loads(row.explanation) for row in connection.execute(query)}


def late_reports_of(connection: Connection, run_ids: Sequence[RunId]) -> list[LateReported]:
    """The reports of these runs that changed nothing, in the order in which they came."""
    query = select(late_reports).where(late_reports.c.run_id.in_(run_ids)).order_by(late_reports.c.id)
    return [
        LateReported(
            run_id=RunId(row.run_id),
            job_id=JobId(row.job_id),
            executor=ExecutorId(row.executor),
            kind=row.kind,
            why=row.why,
            reported_at_ms=row.reported_at_ms,
        )
        for row in connection.execute(query)
    ]


def rejections_of(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, JobFailed]:
    """Why these rejected jobs were rejected: they have no run, and only the event of their end tells."""
    mine = events.c.job_id.in_(job_ids), events.c.kind == JobFailed.NAME
    told = [event_of(row) for row in connection.execute(select(events.c.kind, events.c.payload).where(*mine))]
    return {event.job_id: event for event in told if isinstance(event, JobFailed)}

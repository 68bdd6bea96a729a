"""Reads jobs, runs and executors for the plugin: a fixed number of statements, however many are asked for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, func, select, text

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_common.core.messages import NodeFacts
from refloat_host.adapters.store.queries.rows import (
    AnyRow,
    claim_of,
    executor_of,
    job_of,
    node_of,
    run_of,
)
from refloat_host.adapters.store.tables import (
    claims,
    executor_nodes,
    executors,
    job_specs,
    jobs,
    queue_retry_policies,
    queues,
    report_marks,
    runs,
)
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.model import Claim, Job, JobState, Run

MAX_PARAMETERS = 10_000
"""Values in one IN list; SQLite takes 32,766, PostgreSQL 65,535."""

ACTIVE = text("runs.state IN ('leased', 'pending', 'running')")
"""Written exactly like the condition of the index `ix_runs_active`, or SQLite would not use it."""

HELD = text("jobs.state = 'queued' AND jobs.hold_for_uid <> ''")
"""As the condition of the index `ix_jobs_held`."""

JOB_COLUMNS = (*jobs.columns, *[column for column in job_specs.columns if column.name not in ("job_id", "pod_spec")])
_WHOLE_JOB = select(*JOB_COLUMNS).join_from(jobs, job_specs)

T = TypeVar("T")


def high_water(connection: Connection, executor: ExecutorId, journal: JournalId) -> int:
    """The last committed report sequence of a journal; 0 for one never seen."""
    mark = select(report_marks.c.have).where(report_marks.c.executor == executor, report_marks.c.journal == journal)
    return int(connection.execute(mark).scalar() or 0)


def executor_records(connection: Connection) -> list[ExecutorRecord]:
    """Every executor ever seen, in order of name."""
    return [executor_of(row) for row in connection.execute(select(executors).order_by(executors.c.executor))]


def executor_record(connection: Connection, executor: ExecutorId) -> ExecutorRecord | None:
    """One executor; None if it was never seen."""
    row = connection.execute(select(executors).where(executors.c.executor == executor)).one_or_none()
    return None if row is None else executor_of(row)


def nodes(connection: Connection, executor: ExecutorId) -> list[NodeFacts]:
    """What is known of an executor's nodes, in order of name."""
    query = select(executor_nodes).where(executor_nodes.c.executor == executor).order_by(executor_nodes.c.name)
    return [node_of(row) for row in connection.execute(query)]


def read_jobs(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, Job]:
    """Jobs with all their runs and claims, in order of id; unknown ids are left out."""
    found: dict[JobId, Job] = {}
    for page in pages(sorted(set(job_ids))):
        rows = connection.execute(_WHOLE_JOB.where(jobs.c.job_id.in_(page)).order_by(jobs.c.job_id)).all()
        found |= _with_runs(connection, rows)
    return found


def jobs_of_runs(connection: Connection, run_ids: Sequence[RunId]) -> dict[RunId, Job]:
    """For each known run, its whole job."""
    owners: dict[RunId, JobId] = {}
    for page in pages(sorted(set(run_ids))):
        query = select(runs.c.run_id, runs.c.job_id).where(runs.c.run_id.in_(page))
        owners |= {RunId(row.run_id): JobId(row.job_id) for row in connection.execute(query)}
    found = read_jobs(connection, list(owners.values()))
    return {run_id: found[owners[run_id]] for run_id in run_ids if run_id in owners}


def active_jobs(connection: Connection, executor: ExecutorId, after: RunId, limit: int) -> list[Job]:
    """One page of the jobs that are leased to an executor, in order of the current run's id."""
    query = (
        _WHOLE_JOB.join(runs, runs.c.job_id == jobs.c.job_id)
        .where(runs.c.executor == executor, ACTIVE, runs.c.run_id > after, jobs.c.state == JobState.LEASED.value)
        .order_by(runs.c.run_id)
        .limit(limit)
    )
    return list(_with_runs(connection, connection.execute(query).all()).values())


def held_jobs(connection: Connection, executor: ExecutorId, after: JobId, limit: int) -> list[Job]:
    """One page of the queued jobs that wait for an old pod of an executor to be gone, in order of job id."""
    history = runs.alias()
    latest = select(func.max(history.c.ordinal)).where(history.c.job_id == jobs.c.job_id).scalar_subquery()
    query = (
        _WHOLE_JOB.join(runs, runs.c.job_id == jobs.c.job_id)
        .where(HELD, jobs.c.job_id > after, runs.c.ordinal == latest, runs.c.executor == executor)
        .order_by(jobs.c.job_id)
        .limit(limit)
    )
    return list(_with_runs(connection, connection.execute(query).all()).values())


def executor_claims(connection: Connection, executor: ExecutorId) -> list[Claim]:
    """The claims of an executor, in order of run id."""
    query = select(claims).where(claims.c.executor == executor).order_by(claims.c.run_id)
    return [claim_of(row) for row in connection.execute(query)]


def active_counts(connection: Connection) -> dict[ExecutorId, int]:
    """How many active runs each executor has."""
    query = select(runs.c.executor, func.count()).where(ACTIVE).group_by(runs.c.executor).order_by(runs.c.executor)
    return {ExecutorId(name): count for name, count in connection.execute(query)}


def queue_policies(connection: Connection, queue: str) -> tuple[str, ...] | None:
    """The names of a queue's policies, in order; None for an unknown queue."""
    query = (
        select(queue_retry_policies.c.policy)
        .select_from(queues)
        .outerjoin(queue_retry_policies, queue_retry_policies.c.queue == queues.c.name)
        .where(queues.c.name == queue)
        .order_by(queue_retry_policies.c.ordinal)
    )
    names = connection.execute(query).scalars().all()
    return tuple(name for name in names if name is not None) if names else None


def pages(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """The values in lists that fit into one statement."""
    for start in range(0, len(values), MAX_PARAMETERS):
        yield values[start : start + MAX_PARAMETERS]


def _with_runs(connection: Connection, rows: Sequence[AnyRow]) -> dict[JobId, Job]:
    ids = [row.job_id for row in rows]
    if not ids:
        return {}
    order = runs.c.job_id, runs.c.ordinal
    history: dict[str, list[Run]] = {}
    for row in connection.execute(select(runs).where(runs.c.job_id.in_(ids)).order_by(*order)):
        history.setdefault(row.job_id, []).append(run_of(row))
    held = _claims(connection, claims.c.job_id.in_(ids))
    return {JobId(row.job_id): job_of(row, history.get(row.job_id, ()), held.get(row.job_id, ())) for row in rows}


def _claims(connection: Connection, condition: ColumnElement[bool]) -> Mapping[str, list[Claim]]:
    held: dict[str, list[Claim]] = {}
    for row in connection.execute(select(claims).where(condition).order_by(claims.c.run_id)):
        held.setdefault(row.job_id, []).append(claim_of(row))
    return held

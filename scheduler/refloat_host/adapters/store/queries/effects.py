"""Writes a list of effects with as few statements as there are tables to touch, however long the list.

Effects are upserts of whole values, so of two that write the same row the later one stands, and rows of one table can
go in one statement. The order between tables is fixed below by what refers to what.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from sqlalchemy import Connection, Table, bindparam, delete, insert, update
from sqlalchemy.dialects import postgresql, sqlite

from refloat_common.core.ids import ExecutorId
from refloat_host.adapters.store.queries.rows import (
    Values,
    event_values,
    executor_values,
    node_values,
    run_values,
    to_json,
)
from refloat_host.adapters.store.tables import (
    claims,
    events,
    executor_nodes,
    executors,
    jobs,
    late_reports,
    report_marks,
    runs,
    verdicts,
)
from refloat_scheduler.core.effects import (
    ClaimDropped,
    ClaimStored,
    Effect,
    EventsAppended,
    ExecutorSaved,
    HighWaterMoved,
    HoldReleased,
    JobEnded,
    JobRequeued,
    LateReported,
    NodesSaved,
    RunAdopted,
    RunChanged,
    VerdictStored,
)
from refloat_scheduler.core.events import Event
from refloat_scheduler.core.model import Claim, JobState

Key: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class Plan:
    """What a list of effects amounts to, by table. A None means that the row goes."""

    executors: dict[Key, Values] = field(default_factory=dict)
    wiped_nodes: dict[str, None] = field(default_factory=dict)
    nodes: dict[Key, Values | None] = field(default_factory=dict)
    runs: dict[Key, Values] = field(default_factory=dict)
    jobs: dict[str, Values] = field(default_factory=dict)
    claims: dict[Key, Values | None] = field(default_factory=dict)
    verdicts: list[Values] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    late: list[Values] = field(default_factory=list)
    marks: dict[Key, Values] = field(default_factory=dict)

    def touched_nodes(self) -> dict[ExecutorId, None]:
        """The executors whose nodes change."""
        return dict.fromkeys(ExecutorId(name) for name in (*self.wiped_nodes, *(key[0] for key in self.nodes)))


def plan_of(effects: Iterable[Effect]) -> Plan:
    """Fold effects into what is to be written."""
    plan = Plan()
    for effect in effects:
        _add(plan, effect)
    return plan


def _add(plan: Plan, effect: Effect) -> None:  # noqa: C901, PLR0912  one case per member of the union
    match effect:
        case RunChanged(run=run):
            plan.runs[run.run_id,] = run_values(run)
        case RunAdopted(run=run):
            plan.runs[run.run_id,] = run_values(run)
            _job(plan, run.job_id, state=JobState.LEASED.value, queued_version=effect.queued_version, hold_for_uid="")
        case JobRequeued():
            _job(plan, effect.job_id, **_requeued(effect))
        case JobEnded():
            _job(plan, effect.job_id, state=effect.state.value, ended_at_ms=effect.ended_at_ms, hold_for_uid="")
        case HoldReleased():
            _job(plan, effect.job_id, hold_for_uid="")
        case EventsAppended():
            plan.events.extend(effect.events)
        case VerdictStored():
            plan.verdicts.append(_verdict(effect))
        case LateReported():
            plan.late.append(_late(effect))
        case ClaimStored(claim=claim):
            plan.claims[claim.run_id,] = _claim(claim)
        case ClaimDropped():
            plan.claims[effect.run_id,] = None
        case ExecutorSaved(record=record):
            plan.executors[record.executor,] = executor_values(record)
        case NodesSaved():
            _nodes(plan, effect)
        case HighWaterMoved():
            key = (effect.executor, effect.journal)
            plan.marks[key] = {"executor": effect.executor, "journal": effect.journal, "have": effect.seq}
        case _:
            assert_never(effect)


def _job(plan: Plan, job_id: str, **changes: object) -> None:
    plan.jobs.setdefault(job_id, {}).update(changes)


def _requeued(effect: JobRequeued) -> Values:
    return {
        "state": JobState.QUEUED.value,
        "queued_version": effect.queued_version,
        "record": to_json(effect.record),
        "requirements": to_json(effect.requirements),
        "hold_for_uid": effect.hold_for_uid,
    }


def _verdict(effect: VerdictStored) -> Values:
    explanation = effect.explanation
    return {
        "run_id": explanation.run_id,
        "job_id": explanation.job_id,
        "decision": explanation.decision,
        "explanation": to_json(explanation.to_json()),
        "decided_at_ms": explanation.decided_at_ms,
    }


def _late(effect: LateReported) -> Values:
    return {
        "run_id": effect.run_id,
        "job_id": effect.job_id,
        "executor": effect.executor,
        "kind": effect.kind,
        "why": effect.why,
        "reported_at_ms": effect.reported_at_ms,
    }


def _claim(claim: Claim) -> Values:
    return {
        "run_id": claim.run_id,
        "job_id": claim.job_id,
        "executor": claim.executor,
        "pod_uid": claim.pod_uid,
    }


def _nodes(plan: Plan, effect: NodesSaved) -> None:
    if effect.full:
        plan.wiped_nodes[effect.executor] = None
        for key in [key for key in plan.nodes if key[0] == effect.executor]:
            del plan.nodes[key]
    for node in effect.upserted:
        plan.nodes[effect.executor, node.name] = node_values(effect.executor, node)
    for name in effect.removed:
        plan.nodes[effect.executor, name] = None


def write(connection: Connection, plan: Plan) -> None:
    """Carry a plan out: at most two statements per table, each for all of its rows."""
    upsert(connection, executors, list(plan.executors.values()))
    if plan.wiped_nodes:
        connection.execute(delete(executor_nodes).where(executor_nodes.c.executor.in_(list(plan.wiped_nodes))))
    _replace(connection, executor_nodes, plan.nodes)
    _update_jobs(connection, plan.jobs)
    upsert(connection, runs, list(plan.runs.values()))
    _replace(connection, claims, plan.claims)
    append(connection, verdicts, plan.verdicts)
    append(connection, events, event_values(plan.events))
    append(connection, late_reports, plan.late)
    upsert(connection, report_marks, list(plan.marks.values()))


def _update_jobs(connection: Connection, changes: Mapping[str, Values]) -> None:
    """One statement for each set of columns that changes; there are as many sets as kinds of effect."""
    by_columns: dict[Key, list[Values]] = {}
    for job_id in sorted(changes):
        columns = tuple(sorted(changes[job_id]))
        by_columns.setdefault(columns, []).append({"b_job_id": job_id} | changes[job_id])
    for columns, rows in by_columns.items():
        assigned: dict[str, object] = {name: bindparam(name) for name in columns}
        connection.execute(update(jobs).where(jobs.c.job_id == bindparam("b_job_id")).values(assigned), rows)


def _replace(connection: Connection, table: Table, rows: Mapping[Key, Values | None]) -> None:
    gone = [key for key, values in rows.items() if values is None]
    if gone:
        keys = list(table.primary_key.columns)
        condition = [column == bindparam(f"b_{column.name}") for column in keys]
        named = [{f"b_{column.name}": part for column, part in zip(keys, key, strict=True)} for key in gone]
        connection.execute(delete(table).where(*condition), named)
    upsert(connection, table, [values for values in rows.values() if values is not None])


def append(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert rows, in order; nothing for none."""
    if rows:
        connection.execute(insert(table), rows)


def upsert(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert rows or replace those with the same primary key; nothing for none."""
    if not rows:
        return
    keys = [column.name for column in table.primary_key.columns]
    rest = [column.name for column in table.columns if column.name not in keys]
    statement = postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
    updated = {name: statement.excluded[name] for name in rest}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=updated), rows)

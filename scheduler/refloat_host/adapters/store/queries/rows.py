"""Turns the scheduler's values into rows and back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import Row

from refloat_common.core.ids import ExecutorId, JobId, JournalId, PodUid, RunId
from refloat_common.core.messages import NodeFacts
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.events import ALL_EVENTS, Event
from refloat_scheduler.core.model import Claim, Job, JobState, MutationRecord, Requirements, Run, RunError, RunState

Values: TypeAlias = dict[str, object]
"""One row to be written, column name to value."""

AnyRow: TypeAlias = "Row[*tuple[Any, ...]]"
"""One row that was read; SQLAlchemy knows no types of columns chosen at run time."""

_requirements = msgspec.json.Decoder(Requirements)
_record = msgspec.json.Decoder(MutationRecord)
_error = msgspec.json.Decoder(RunError)
_texts = msgspec.json.Decoder(dict[str, str])
_names = msgspec.json.Decoder(tuple[str, ...])
_events: Mapping[str, msgspec.json.Decoder[Event]] = {kind.NAME: msgspec.json.Decoder(kind) for kind in ALL_EVENTS}


def to_json(value: object) -> str:
    """The stored form of any of our values."""
    return msgspec.json.encode(value).decode()


def job_values(job: Job) -> Values:
    """A row of `jobs`."""
    return {
        "job_id": job.job_id,
        "queue": job.queue,
        "job_set": job.job_set,
        "state": job.state.value,
        "priority": job.priority,
        "submitted_at_ms": job.submitted_at_ms,
        "ended_at_ms": job.ended_at_ms,
        "queued_version": job.queued_version,
        "cancel_requested": job.cancel_requested,
        "hold_for_uid": job.hold_for_uid,
        "requirements": to_json(job.requirements),
        "record": to_json(job.record),
    }


def spec_values(job: Job, pod_spec: str) -> Values:
    """A row of `job_specs`. `pod_spec` is Kubernetes JSON."""
    return {
        "job_id": job.job_id,
        "namespace": job.namespace,
        "owner": job.owner,
        "labels": to_json(job.labels),
        "annotations": to_json(job.annotations),
        "pod_spec": pod_spec,
    }


def job_of(row: AnyRow, runs: Sequence[Run], claims: Sequence[Claim]) -> Job:
    """A job from its row (`jobs` joined with `job_specs`) and what belongs to it."""
    return Job(
        job_id=JobId(row.job_id),
        queue=row.queue,
        job_set=row.job_set,
        state=JobState(row.state),
        owner=row.owner,
        namespace=row.namespace,
        labels=_texts.decode(row.labels),
        annotations=_texts.decode(row.annotations),
        priority=row.priority,
        submitted_at_ms=row.submitted_at_ms,
        ended_at_ms=row.ended_at_ms,
        queued_version=row.queued_version,
        requirements=_requirements.decode(row.requirements),
        record=_record.decode(row.record),
        runs=tuple(runs),
        cancel_requested=row.cancel_requested,
        hold_for_uid=PodUid(row.hold_for_uid),
        claims=tuple(claims),
    )


def requirements_of(text: str) -> Requirements:
    """What a pod asks of a node, from its stored form."""
    return _requirements.decode(text)


def record_of(text: str) -> MutationRecord:
    """What retries have changed, from its stored form."""
    return _record.decode(text)


def texts_of(text: str) -> dict[str, str]:
    """Labels or annotations, from their stored form."""
    return _texts.decode(text)


def run_values(run: Run) -> Values:
    """A row of `runs`."""
    return {
        "run_id": run.run_id,
        "job_id": run.job_id,
        "ordinal": run.ordinal,
        "executor": run.executor,
        "pool": run.pool,
        "state": run.state.value,
        "node": run.node,
        "node_label": run.node_label,
        "pod_uid": run.pod_uid,
        "acknowledged": run.acknowledged,
        "attempted": run.attempted,
        "preempted": run.preempted,
        "returned": run.returned,
        "leased_at_ms": run.leased_at_ms,
        "running_at_ms": run.running_at_ms,
        "ended_at_ms": run.ended_at_ms,
        "error": None if run.error is None else to_json(run.error),
    }


def run_of(row: AnyRow) -> Run:
    """A run from its row."""
    return Run(
        run_id=RunId(row.run_id),
        job_id=JobId(row.job_id),
        ordinal=row.ordinal,
        executor=ExecutorId(row.executor),
        pool=row.pool,
        state=RunState(row.state),
        node=row.node,
        node_label=row.node_label,
        pod_uid=PodUid(row.pod_uid),
        acknowledged=row.acknowledged,
        attempted=row.attempted,
        preempted=row.preempted,
        returned=row.returned,
        leased_at_ms=row.leased_at_ms,
        running_at_ms=row.running_at_ms,
        ended_at_ms=row.ended_at_ms,
        error=None if row.error is None else _error.decode(row.error),
    )


def claim_of(row: AnyRow) -> Claim:
    """A claim from its row."""
    return Claim(RunId(row.run_id), JobId(row.job_id), ExecutorId(row.executor), PodUid(row.pod_uid))


def executor_values(record: ExecutorRecord) -> Values:
    """A row of `executors`."""
    return {
        "executor": record.executor,
        "last_epoch": record.last_epoch,
        "pool": record.pool,
        "journal": record.journal,
        "capabilities": to_json(record.capabilities),
        "node_id_label": record.node_id_label,
        "cordoned": record.cordoned,
        "decommissioned": record.decommissioned,
        "last_seen_at_ms": record.last_seen_at_ms,
        "runs_expired_at_ms": record.runs_expired_at_ms,
    }


def executor_of(row: AnyRow) -> ExecutorRecord:
    """An executor from its row."""
    return ExecutorRecord(
        executor=ExecutorId(row.executor),
        last_epoch=row.last_epoch,
        pool=row.pool,
        journal=JournalId(row.journal),
        capabilities=_names.decode(row.capabilities),
        node_id_label=row.node_id_label,
        cordoned=row.cordoned,
        decommissioned=row.decommissioned,
        last_seen_at_ms=row.last_seen_at_ms,
        runs_expired_at_ms=row.runs_expired_at_ms,
    )


def node_values(executor: ExecutorId, node: NodeFacts) -> Values:
    """A row of `executor_nodes`."""
    return {"executor": executor, "name": node.name, "facts": node.model_dump_json()}


def node_of(row: AnyRow) -> NodeFacts:
    """A node's facts from its row."""
    return NodeFacts.model_validate_json(row.facts)


def event_values(events: Iterable[Event]) -> list[Values]:
    """Rows of `events`, in the order given."""
    return [
        {
            "queue": event.queue,
            "job_set": event.job_set_id,
            "job_id": event.job_id,
            "run_id": event.run_id,
            "kind": event.NAME,
            "created_at_ms": event.created_ms,
            "payload": to_json(event),
        }
        for event in events
    ]


def event_of(row: AnyRow) -> Event:
    """An event from its row; its class is found by name."""
    return _events[row.kind].decode(row.payload)

"""What a granted retry changes in the job, and whether the changed job still fits a node.

First the memory grows, then nodes are avoided, each followed by the static-fit probe. A job that fits no node after a
change is not retried. On the legacy path only nodes are avoided, and only after a run that was attempted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from refloat_scheduler.core.explanation import MutationChange
from refloat_scheduler.core.model import Job, Requirements
from refloat_scheduler.core.mutations.affinity import avoiding, labels_to_avoid, recorded
from refloat_scheduler.core.mutations.memory import MEMORY, grow
from refloat_scheduler.core.policies.compiled import Mutation
from refloat_scheduler.core.retry.texts import GROWN_TOO_LARGE, NO_UNTRIED_NODE
from refloat_scheduler.core.signals import Level, Note

Probe = Callable[[Requirements], bool]
"""Whether any node of the fleet could ever take a pod with these requirements."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The changed job, and what was done. `refusal` says why the job can't be retried; then it is unchanged."""

    job: Job
    made: tuple[MutationChange, ...] = ()
    notes: tuple[Note, ...] = ()
    refusal: str = ""


def changed(job: Job, mutation: Mutation, node_id_label: str, probe: Probe) -> Changes:
    """The job after a rule's mutation.

    Raises:
        UnreadableRecordError: the job's stored growth means nothing.
    """
    grown = _grown(job, mutation, probe) if mutation.grows else Changes(job)
    if grown.refusal or not mutation.avoid_same_node:
        return replace(grown, job=job) if grown.refusal else grown
    moved = avoided(grown.job, node_id_label, probe)
    return Changes(
        job=job if moved.refusal else moved.job,
        made=grown.made + moved.made,
        notes=grown.notes + moved.notes,
        refusal=moved.refusal,
    )


def avoided(job: Job, node_id_label: str, probe: Probe) -> Changes:
    """The job kept off every node that an attempt ran on; unchanged where no such node is known by its label."""
    values = labels_to_avoid(job)
    before = ", ".join(job.record.avoid)
    if not values:
        skipped = "no attempted node is known by its label"
        return Changes(job, (MutationChange(kind="avoid", before=before, after=before, skipped=skipped),))
    requirements = avoiding(job.requirements, node_id_label, values)
    record = recorded(job.record, values)
    fits = probe(requirements)
    made = (MutationChange(kind="avoid", before=before, after=", ".join(record.avoid), probe=fits),)
    if not fits:
        return Changes(job, made, refusal=NO_UNTRIED_NODE)
    return Changes(replace(job, requirements=requirements, record=record), made)


def _grown(job: Job, mutation: Mutation, probe: Probe) -> Changes:
    grown = grow(job.job_id, job.record, job.requirements, mutation)
    before = _memory(job)
    if grown is None:
        text = f"skipping memory bump for job {job.job_id}: the bump kind differs from the job's accumulated record"
        skipped = "the job already grows the other way"
        made = MutationChange(kind=MEMORY, before=before, after=before, skipped=skipped)
        return Changes(job, (made,), (Note(Level.WARNING, text),))
    after = replace(job, requirements=grown.requirements, record=grown.record)
    fits = probe(grown.requirements)
    return Changes(
        after,
        (MutationChange(kind=MEMORY, before=before, after=_memory(after), probe=fits),),
        refusal="" if fits else GROWN_TOO_LARGE,
    )


def _memory(job: Job) -> str:
    """Request and limit, for a reader."""
    return f"{job.requirements.requests.get(MEMORY, '-')}/{job.requirements.limits.get(MEMORY, '-')}"

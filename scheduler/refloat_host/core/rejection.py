"""Decides what is told of jobs that no node could ever take. Names are Armada's; the reason is in our own words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from refloat_common.core.ids import JobId
from refloat_common.core.taxonomy import ANNOTATION_GANG_ID, INTERNAL, Cause, Internal
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.model import Job, JobState
from refloat_scheduler.core.retry.gates import in_gang

MAX_OBSTACLES = 10
"""Different obstacles that a reason names."""


def why_rejected(job: Job, fleet: Fleet) -> str:
    """Why no node of the fleet could ever take the job."""
    found = fleet.obstacles(job.requirements)
    known = len(fleet.nodes)
    lines = [f"{count} of {known}: {obstacle}" for obstacle, count in list(found.items())[:MAX_OBSTACLES]]
    if len(found) > MAX_OBSTACLES:
        lines.append(f"and {len(found) - MAX_OBSTACLES} other obstacles")
    return "\n".join(["No node that executors have reported could ever take this job.", *lines])


def with_gangs(new: Sequence[Job], reasons: Mapping[JobId, str]) -> Mapping[JobId, str]:
    """The same with the other members of every rejected job's gang: a gang runs whole or not at all."""
    gangs = {job.annotations[ANNOTATION_GANG_ID]: job for job in new if job.job_id in reasons and in_gang(job)}
    spread = dict(reasons)
    for job in new:
        cause = gangs.get(job.annotations.get(ANNOTATION_GANG_ID, ""))
        if cause is not None and job.job_id not in reasons:
            spread[job.job_id] = f"Job {cause.job_id} of the same gang was rejected:\n{reasons[cause.job_id]}"
    return spread


def rejected(job: Job, reason: str) -> tuple[Job, JobFailed]:
    """The job as it ends before it could begin, and its terminal event."""
    event = JobFailed(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=job.submitted_at_ms,
        reason=reason,
        cause=Cause.REJECTED,
        failure_category=INTERNAL,
        failure_subcategory=Internal.JOB_REJECTED,
    )
    return replace(job, state=JobState.REJECTED, ended_at_ms=job.submitted_at_ms), event

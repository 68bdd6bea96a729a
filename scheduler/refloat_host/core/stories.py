"""Decides what an operator is told about jobs and executors."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from refloat_common.core.admin import ExecutorLine, JobLine, JobStory, LateReport, RunStory, utc_text
from refloat_common.core.ids import RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_scheduler.core.effects import LateReported
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.core.model import Job, JobState, Run
from refloat_scheduler.service.contract import ExecutorView


def job_line(job: Job, rejection: JobFailed | None = None) -> JobLine:
    """A job as one line of a list; `rejection` is the end of a rejected one."""
    run = job.latest_run
    category, subcategory, reason = _failure(run, rejection)
    return JobLine(
        job_id=job.job_id,
        job_set=job.job_set,
        state=state_of(job),
        priority=job.priority,
        attempts=len(job.runs),
        executor=run.executor if run else "",
        node=run.node if run else "",
        category=category,
        subcategory=subcategory,
        reason=reason,
        submitted_at=utc_text(job.submitted_at_ms),
        ended_at=utc_text(job.ended_at_ms),
    )


def _failure(run: Run | None, rejection: JobFailed | None) -> tuple[str, str, str]:
    """Category, subcategory and reason of the latest run's failure, or of the rejection of a job without runs."""
    if run is not None and run.error is not None:
        return run.error.category, run.error.subcategory, run.error.message
    if rejection is not None:
        return rejection.failure_category, rejection.failure_subcategory, rejection.reason
    return "", "", ""


def job_story(
    job: Job, verdicts: Mapping[RunId, JsonObject], late: Sequence[LateReported], rejection: JobFailed | None = None
) -> JobStory:
    """A job with all of its runs and what was decided about each; `rejection` is the end of a rejected one."""
    record = job.record
    return JobStory(
        job_id=job.job_id,
        queue=job.queue,
        job_set=job.job_set,
        state=state_of(job),
        owner=job.owner,
        namespace=job.namespace,
        priority=job.priority,
        labels=dict(job.labels),
        annotations=dict(job.annotations),
        requests=dict(job.requirements.requests),
        limits=dict(job.requirements.limits),
        memory_factor=record.memory_factor,
        memory_static=record.memory_static,
        avoided_nodes=list(record.avoid),
        waits_for=waits_for(job),
        rejected_because=rejection.reason if rejection else "",
        submitted_at=utc_text(job.submitted_at_ms),
        ended_at=utc_text(job.ended_at_ms),
        runs=[_run_story(run, verdicts.get(run.run_id), late) for run in job.runs],
    )


def state_of(job: Job) -> str:
    """Where a job stands; of a leased one, how far its run has come."""
    run = job.current_run
    return job.state.value if run is None else run.state.value


def waits_for(job: Job) -> str:
    """What keeps a queued job from being leased anywhere; empty if only capacity does, or if it is not queued."""
    if job.state is not JobState.QUEUED:
        return ""
    if job.hold_for_uid:
        return f"the pod of the run before (uid {job.hold_for_uid}) has to be reported gone"
    if job.claims:
        claim = job.claims[0]
        return f"executor {claim.executor} holds run {claim.run_id}, which this store does not know"
    return "its cancellation" if job.cancel_requested else ""


def executor_line(view: ExecutorView, runs: int) -> ExecutorLine:
    """How an executor's lease stands; `runs` is how many of its runs are current."""
    return ExecutorLine(
        executor=view.executor,
        state=view.state.value,
        may_lease=view.may_lease,
        why_not=view.why_not,
        pool=view.pool,
        runs=runs,
        unacknowledged=view.unacknowledged,
        free_slots=view.free_slots,
        cordoned=view.cordoned,
        decommissioned=view.decommissioned,
        silent_for_s=view.silent_for_s,
    )


def _run_story(run: Run, verdict: JsonObject | None, late: Sequence[LateReported]) -> RunStory:
    error = run.error
    return RunStory(
        run_id=run.run_id,
        ordinal=run.ordinal,
        state=run.state.value,
        executor=run.executor,
        pool=run.pool,
        node=run.node,
        pod_uid=run.pod_uid,
        attempted=run.attempted,
        preempted=run.preempted,
        returned=run.returned,
        category=error.category if error else "",
        subcategory=error.subcategory if error else "",
        reason=error.message if error else "",
        error=asdict(error) if error else None,
        leased_at=utc_text(run.leased_at_ms),
        running_at=utc_text(run.running_at_ms),
        ended_at=utc_text(run.ended_at_ms),
        verdict=None if verdict is None else dict(verdict),
        late_reports=[
            LateReport(
                kind=report.kind, why=report.why, executor=report.executor, reported_at=utc_text(report.reported_at_ms)
            )
            for report in late
            if report.run_id == run.run_id
        ],
    )

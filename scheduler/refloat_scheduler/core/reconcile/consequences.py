"""From a verdict to what is stored: run, verdict, events, and the job queued again or ended, in this order.

The order of the events is part of the contract: a retried failure is told before anything of the new run can be, and
a terminal event is a job's last.
"""

from dataclasses import replace

from refloat_scheduler.core.effects import (
    Effect,
    EventsAppended,
    JobEnded,
    JobRequeued,
    RunChanged,
    VerdictStored,
)
from refloat_scheduler.core.events import Event
from refloat_scheduler.core.model import Job, JobState, MutationRecord, Run
from refloat_scheduler.core.mutations.memory import UnreadableRecordError
from refloat_scheduler.core.reconcile import telling
from refloat_scheduler.core.reconcile.world import Outcome, Rules
from refloat_scheduler.core.retry.settle import Settlement, settle_failure
from refloat_scheduler.core.signals import Level, Note


def with_run(job: Job, run: Run) -> Job:
    """The job with one of its runs as it is now."""
    return replace(job, runs=tuple(run if old.run_id == run.run_id else old for old in job.runs))


def after_failure(job: Job, run: Run, rules: Rules, before: tuple[Event, ...] = ()) -> tuple[Job, Outcome]:
    """The job after its current run has ended in failure or was returned; `before` is told first.

    A job whose cancellation was asked for is cancelled instead: the engine has no say in it.
    """
    failed = with_run(job, run)
    if job.cancel_requested:
        return after_cancellation(failed, run, rules, before)
    circumstances = rules.circumstances(failed, run.executor)
    notes: tuple[Note, ...] = ()
    try:
        settlement = settle_failure(failed, circumstances)
    except UnreadableRecordError as error:
        notes = (Note(Level.ALERT, f"{error}; the growth begins afresh"),)
        failed = replace(failed, record=MutationRecord(avoid=job.record.avoid, version=job.record.version))
        settlement = settle_failure(failed, circumstances)
    told = before
    if settlement.error is not None:
        told += (telling.failed(failed, run, settlement.error, rules.now_ms, retryable=settlement.retry),)
    return settlement.job, replace(settled(run, settlement, told), notes=notes + settlement.notes)


def after_cancellation(job: Job, run: Run, rules: Rules, before: tuple[Event, ...] = ()) -> tuple[Job, Outcome]:
    """The job after its last run has ended while a cancellation was asked for."""
    ended = replace(job, state=JobState.CANCELLED, ended_at_ms=rules.now_ms)
    effects: tuple[Effect, ...] = (
        RunChanged(run),
        EventsAppended((*before, telling.cancelled(job, rules.now_ms))),
        JobEnded(job.job_id, JobState.CANCELLED, rules.now_ms),
    )
    return ended, Outcome(effects=effects, room=(run.executor,))


def settled(run: Run, settlement: Settlement, events: tuple[Event, ...]) -> Outcome:
    """The effects of a verdict over a run that has just ended."""
    job = settlement.job
    effects: list[Effect] = [RunChanged(run), VerdictStored(settlement.explanation)]
    if events:
        effects.append(EventsAppended(events))
    effects.append(requeued(job) if settlement.retry else JobEnded(job.job_id, job.state, job.ended_at_ms))
    return Outcome(
        effects=tuple(effects),
        notes=settlement.notes,
        samples=settlement.samples,
        requeued=(job.queue,) if settlement.retry and job.leasable else (),
        room=(run.executor,),
    )


def requeued(job: Job) -> JobRequeued:
    """The effect that puts a job back into its queue as it is."""
    return JobRequeued(
        job_id=job.job_id,
        queued_version=job.queued_version,
        record=job.record,
        requirements=job.requirements,
        hold_for_uid=job.hold_for_uid,
    )

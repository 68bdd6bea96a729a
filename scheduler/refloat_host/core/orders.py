"""Decides what a user's order does to a job: cancel, preempt, change the priority.

A job that is leased ends in the store at once, and its executor is told to kill the run; whatever that run still
reports changes nothing. Event sequences and texts are Armada's (recorded from a running one).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from refloat_common.core.ids import ExecutorId, RunId
from refloat_scheduler.core.effects import Effect, EventsAppended, JobEnded, RunChanged
from refloat_scheduler.core.events import (
    Event,
    JobCancelled,
    JobCancelling,
    JobFailed,
    JobPreempted,
    JobPreempting,
    JobReprioritized,
    JobReprioritizing,
)
from refloat_scheduler.core.model import ErrorKind, Job, JobState, RunError, RunState

PREEMPTED_OVER_API = "Preempted - preemption requested via API"


@dataclass(frozen=True, slots=True)
class Order:
    """Who orders something, and why."""

    requestor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Kill:
    """A run that its executor must end."""

    executor: ExecutorId
    run_id: RunId


@dataclass(frozen=True, slots=True)
class Carried:
    """What an order comes to: what is stored, and what is then killed."""

    effects: tuple[Effect, ...]
    kills: tuple[Kill, ...] = ()


def cancel(job: Job, order: Order, now_ms: int) -> Carried | None:
    """Cancel a job; None if it is over already."""
    if job.state.ended:
        return None
    events: list[Event] = [
        JobCancelling(
            job_id=job.job_id,
            job_set_id=job.job_set,
            queue=job.queue,
            created_ms=now_ms,
            requestor=order.requestor,
            reason=order.reason,
        ),
        JobCancelled(
            job_id=job.job_id,
            job_set_id=job.job_set,
            queue=job.queue,
            created_ms=now_ms,
            requestor=order.requestor,
            reason=order.reason,
        ),
    ]
    effects: list[Effect] = []
    kills: tuple[Kill, ...] = ()
    if run := job.current_run:
        effects.append(RunChanged(replace(run, state=RunState.CANCELLED, ended_at_ms=now_ms)))
        kills = (Kill(run.executor, run.run_id),)
    effects += [EventsAppended(tuple(events)), JobEnded(job.job_id, JobState.CANCELLED, now_ms)]
    return Carried(tuple(effects), kills)


def preempt(job: Job, order: Order, now_ms: int) -> Carried | None:
    """Take a leased job off its node for good; None if it has no run now. The retry engine has no say in it."""
    run = job.current_run
    if run is None:
        return None
    reason = _preemption_text(order)
    error = RunError(kind=ErrorKind.JOB_RUN_PREEMPTED, message=reason, cluster=run.executor, node=run.node)
    ended = replace(run, state=RunState.PREEMPTED, preempted=True, error=error, ended_at_ms=now_ms)
    return Carried(
        (
            RunChanged(ended),
            EventsAppended(_preemption_events(job, run.executor, run.run_id, order, now_ms)),
            JobEnded(job.job_id, JobState.PREEMPTED, now_ms),
        ),
        (Kill(run.executor, run.run_id),),
    )


def reprioritize(job: Job, priority: int, order: Order, now_ms: int) -> Sequence[Event]:
    """The events of a new priority; none for a job that is over or has it already."""
    if job.state.ended or job.priority == priority:
        return ()
    return (
        JobReprioritizing(
            job_id=job.job_id,
            job_set_id=job.job_set,
            queue=job.queue,
            created_ms=now_ms,
            new_priority=priority,
            requestor=order.requestor,
        ),
        JobReprioritized(
            job_id=job.job_id,
            job_set_id=job.job_set,
            queue=job.queue,
            created_ms=now_ms,
            new_priority=priority,
            requestor=order.requestor,
        ),
    )


def _preemption_text(order: Order) -> str:
    if not order.requestor:
        return PREEMPTED_OVER_API
    return f"Preempted by {order.requestor}" + (f" - {order.reason}" if order.reason else "")


def _preemption_events(job: Job, executor: ExecutorId, run_id: RunId, order: Order, now_ms: int) -> tuple[Event, ...]:
    reason = _preemption_text(order)
    return (
        JobPreempting(
            job_id=job.job_id,
            job_set_id=job.job_set,
            queue=job.queue,
            created_ms=now_ms,
            requestor=order.requestor,
            reason=order.reason,
        ),
        JobPreempted(
            job_id=job.job_id,
            job_set_id=job.job_set,
            queue=job.queue,
            created_ms=now_ms,
            run_id=run_id,
            cluster_id=executor,
            reason=reason,
            requestor=order.requestor,
        ),
        JobFailed(
            job_id=job.job_id,
            job_set_id=job.job_set,
            queue=job.queue,
            created_ms=now_ms,
            run_id=run_id,
            reason=reason,
        ),
    )

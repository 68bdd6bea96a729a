"""What happens to the runs of an executor that is lost: each is failed, and its job gets a verdict.

Runs are expired in pages (at most `MAX_RUNS_PER_PAGE` per transaction), so that a lost cluster with many runs keeps
nobody else waiting. An expiry changes nothing in the job (specification: *Mutations*), and it consumes both budgets.
"""

from collections.abc import Sequence
from dataclasses import replace

from refloat_scheduler.core.effects import ClaimDropped, HoldReleased
from refloat_scheduler.core.events import Event
from refloat_scheduler.core.model import NO_UID, Claim, Job, Run, RunState
from refloat_scheduler.core.reconcile import telling
from refloat_scheduler.core.reconcile.consequences import after_cancellation, settled, with_run
from refloat_scheduler.core.reconcile.world import NOTHING_TO_DO, Outcome, Rules
from refloat_scheduler.core.retry.settle import settle_expiry
from refloat_scheduler.core.retry.texts import lease_expired
from refloat_scheduler.core.signals import Metric, Sample

MAX_RUNS_PER_PAGE = 500


def expire_page(jobs: Sequence[Job], rules: Rules) -> Outcome:
    """Expire the current run of each of these jobs; a job without one (it ended meanwhile) is left alone."""
    total = NOTHING_TO_DO
    for job in jobs:
        run = job.current_run
        if run is not None:
            total = total.then(expire(job, run, rules)[1])
    return total


def expire(job: Job, run: Run, rules: Rules) -> tuple[Job, Outcome]:
    """The job after its current run's executor was declared lost.

    The run counts as attempted if its executor had taken the lease: a pod may have existed.
    """
    lost = replace(
        run,
        state=RunState.FAILED,
        attempted=run.attempted or run.acknowledged,
        error=lease_expired(),
        ended_at_ms=rules.now_ms,
    )
    failed = with_run(job, lost)
    sample = Sample(Metric.LEASES_EXPIRED, (("executor", run.executor),))
    if job.cancel_requested:
        job, outcome = after_cancellation(failed, lost, rules)
    else:
        settlement = settle_expiry(failed, rules.circumstances(failed, run.executor))
        told: tuple[Event, ...] = ()
        if settlement.retry or not settlement.decided:
            told = (telling.lease_expired(job, lost, rules.now_ms),)
        if settlement.error is not None:
            told += (telling.failed(job, lost, settlement.error, rules.now_ms, retryable=settlement.retry),)
        job, outcome = settlement.job, settled(lost, settlement, told)
    return job, replace(outcome, samples=(*outcome.samples, sample), room=())


def release_holds(jobs: Sequence[Job]) -> Outcome:
    """Let these queued retries go, although the old pod may still be there: its executor is lost and can't say."""
    held = [job for job in jobs if job.hold_for_uid]
    free = [job.queue for job in held if replace(job, hold_for_uid=NO_UID).leasable]
    return Outcome(tuple(HoldReleased(job.job_id) for job in held), requeued=tuple(free))


def drop_claims(claims: Sequence[Claim]) -> Outcome:
    """Forget what a lost executor claimed: the jobs of those claims may be leased anew."""
    return Outcome(tuple(ClaimDropped(claim.run_id) for claim in claims))

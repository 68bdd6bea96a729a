"""What a lease is, as stored: a new run, the job leased to it, and the event that says so."""

from refloat_common.core.ids import ExecutorId, RunId
from refloat_scheduler.core.effects import Effect, EventsAppended, RunAdopted
from refloat_scheduler.core.events import JobLeased
from refloat_scheduler.core.model import Job, Run


def grant(job: Job, run_id: RunId, executor: ExecutorId, pool: str, now_ms: int) -> tuple[Effect, ...]:
    """Lease a job to an executor as its next run (rules of the contract with the plugin, number 7).

    `run_id` is fresh and random. The job must be `leasable`.
    """
    latest = job.latest_run
    run = Run(
        run_id=run_id,
        job_id=job.job_id,
        ordinal=1 if latest is None else latest.ordinal + 1,
        executor=executor,
        pool=pool,
        leased_at_ms=now_ms,
    )
    leased = JobLeased(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=now_ms,
        run_id=run_id,
        cluster_id=executor,
        pool=pool,
    )
    return RunAdopted(run, job.queued_version + 1), EventsAppended((leased,))

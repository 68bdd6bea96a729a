"""What the public event stream is told, one function for each thing that can happen to a run."""

from refloat_common.core.ids import pod_name
from refloat_common.core.messages import Report
from refloat_scheduler.core.events import (
    JobCancelled,
    JobFailed,
    JobLeased,
    JobLeaseExpired,
    JobLeaseReturned,
    JobPending,
    JobRunning,
    JobSucceeded,
)
from refloat_scheduler.core.model import Job, Run, RunError
from refloat_scheduler.core.retry.texts import public_cause, public_reason


def leased(job: Job, run: Run, now_ms: int) -> JobLeased:
    """The run was given to its executor."""
    return JobLeased(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=now_ms,
        run_id=run.run_id,
        cluster_id=run.executor,
        pool=run.pool,
    )


def pending(job: Job, run: Run, report: Report, now_ms: int) -> JobPending:
    """The run's pod exists."""
    return JobPending(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=now_ms,
        run_id=run.run_id,
        cluster_id=run.executor,
        kubernetes_id=report.uid,
        pod_name=report.pod_name or pod_name(job.job_id),
        pod_namespace=report.namespace or job.namespace,
        pool=run.pool,
    )


def running(job: Job, run: Run, report: Report, now_ms: int) -> JobRunning:
    """The run's pod runs."""
    return JobRunning(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=now_ms,
        run_id=run.run_id,
        cluster_id=run.executor,
        kubernetes_id=report.uid,
        node_name=report.node,
        pod_name=report.pod_name or pod_name(job.job_id),
        pod_namespace=report.namespace or job.namespace,
        pool=run.pool,
    )


def succeeded(job: Job, run: Run, report: Report, now_ms: int) -> JobSucceeded:
    """The job is done."""
    return JobSucceeded(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=now_ms,
        run_id=run.run_id,
        cluster_id=run.executor,
        kubernetes_id=report.uid,
        node_name=report.node or run.node,
        pod_name=report.pod_name or pod_name(job.job_id),
        pod_namespace=report.namespace or job.namespace,
    )


def failed(job: Job, run: Run, error: RunError, now_ms: int, *, retryable: bool) -> JobFailed:
    """The run failed; with `retryable`, another one follows."""
    return JobFailed(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=now_ms,
        run_id=run.run_id,
        reason=public_reason(error),
        cluster_id=error.cluster,
        kubernetes_id=error.uid,
        node_name=error.node,
        pod_number=error.pod_number,
        pod_name=error.pod,
        pod_namespace=error.namespace,
        container_statuses=error.containers,
        cause=public_cause(error),
        failure_category=error.category,
        failure_subcategory=error.subcategory,
        retryable=retryable,
    )


def lease_returned(job: Job, run: Run, error: RunError, now_ms: int) -> JobLeaseReturned:
    """The executor gave the run back."""
    return JobLeaseReturned(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=now_ms,
        run_id=run.run_id,
        cluster_id=run.executor,
        reason=error.message,
        kubernetes_id=error.uid,
        run_attempted=run.attempted,
    )


def lease_expired(job: Job, run: Run, now_ms: int) -> JobLeaseExpired:
    """The run's executor was lost."""
    return JobLeaseExpired(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=now_ms,
        run_id=run.run_id,
    )


def cancelled(job: Job, now_ms: int) -> JobCancelled:
    """The job's cancellation is complete."""
    return JobCancelled(job_id=job.job_id, job_set_id=job.job_set, queue=job.queue, created_ms=now_ms)

"""Jobs and runs as they stand, as Armada's messages."""

from armada_client.armada import job_pb2, submit_pb2
from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from google.protobuf.timestamp_pb2 import Timestamp

from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.podproto import fill
from refloat_scheduler.core.model import ErrorKind, Job, JobState, Run, RunState

_ENDED = {
    JobState.SUCCEEDED: submit_pb2.SUCCEEDED,
    JobState.FAILED: submit_pb2.FAILED,
    JobState.CANCELLED: submit_pb2.CANCELLED,
    JobState.PREEMPTED: submit_pb2.PREEMPTED,
    JobState.REJECTED: submit_pb2.REJECTED,
}
_LEASED = {
    RunState.LEASED: submit_pb2.LEASED,
    RunState.PENDING: submit_pb2.PENDING,
    RunState.RUNNING: submit_pb2.RUNNING,
}
_RUN = {
    RunState.LEASED: job_pb2.RUN_STATE_LEASED,
    RunState.PENDING: job_pb2.RUN_STATE_PENDING,
    RunState.RUNNING: job_pb2.RUN_STATE_RUNNING,
    RunState.SUCCEEDED: job_pb2.RUN_STATE_SUCCEEDED,
    RunState.FAILED: job_pb2.RUN_STATE_FAILED,
    RunState.CANCELLED: job_pb2.RUN_STATE_CANCELLED,
    RunState.PREEMPTED: job_pb2.RUN_STATE_PREEMPTED,
}


def job_state(job: Job) -> submit_pb2.JobState.ValueType:
    """Where a job stands, a leased one by its run."""
    if job.state in _ENDED:
        return _ENDED[job.state]
    run = job.current_run
    return submit_pb2.QUEUED if run is None else _LEASED[run.state]


def job_error(job: Job) -> str:
    """Why a failed job failed, in the words of its last run; empty for any other, and where it had none."""
    run = job.latest_run
    failed = job.state in (JobState.FAILED, JobState.PREEMPTED)
    return run.error.message if failed and run is not None and run.error is not None else ""


def job_details(job: Job, *, runs: bool, spec: JsonObject | None) -> job_pb2.JobDetails:
    """A job, with its runs and with what was submitted where that is asked for."""
    cancelled = job.state is JobState.CANCELLED
    return job_pb2.JobDetails(
        job_id=job.job_id,
        queue=job.queue,
        jobset=job.job_set,
        namespace=job.namespace,
        state=job_state(job),
        submitted_ts=_time(job.submitted_at_ms),
        cancel_ts=_time(job.ended_at_ms) if cancelled else None,
        last_transition_ts=_time(_last_transition_ms(job)),
        latest_run_id=job.latest_run.run_id if job.latest_run else "",
        job_runs=[run_details(run) for run in job.runs] if runs else (),
        job_spec=None if spec is None else _submitted(job, spec),
    )


def run_details(run: Run) -> job_pb2.JobRunDetails:
    """One attempt."""
    return job_pb2.JobRunDetails(
        run_id=run.run_id,
        job_id=run.job_id,
        state=_run_state(run),
        cluster=run.executor,
        node=run.node,
        leased_ts=_time(run.leased_at_ms),
        started_ts=_time(run.running_at_ms),
        finished_ts=_time(run.ended_at_ms),
    )


def _run_state(run: Run) -> job_pb2.JobRunState.ValueType:
    if run.returned:
        return job_pb2.RUNS_STATE_LEASE_RETURNED
    if run.error is not None and run.error.kind is ErrorKind.LEASE_EXPIRED:
        return job_pb2.RUN_STATE_LEASE_EXPIRED
    return _RUN[run.state]


def _submitted(job: Job, spec: JsonObject) -> submit_pb2.Job:
    pod = core_v1.PodSpec()
    fill(pod, spec)
    return submit_pb2.Job(
        id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        namespace=job.namespace,
        labels=job.labels,
        annotations=job.annotations,
        owner=job.owner,
        priority=float(job.priority),
        pod_spec=pod,
        created=_time(job.submitted_at_ms),
    )


def _last_transition_ms(job: Job) -> int:
    run = job.latest_run
    of_run = (run.leased_at_ms, run.running_at_ms, run.ended_at_ms) if run else ()
    return max(job.submitted_at_ms, job.ended_at_ms, *of_run)


def _time(utc_ms: int) -> Timestamp | None:
    """A time; None for one that has not come."""
    if not utc_ms:
        return None
    time = Timestamp()
    time.FromMilliseconds(utc_ms)
    return time

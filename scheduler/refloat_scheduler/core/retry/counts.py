"""What budgets and limits count, each time afresh from the run history: no stored counter can disagree with it."""

from refloat_scheduler.core.model import Job, Run, RunState


def is_genuine_failure(run: Run) -> bool:
    """Whether a run counts to `retryLimit` and `globalMaxRetries`: failed or expired, never returned or preempted."""
    return run.state is RunState.FAILED and not run.preempted and not run.returned


def failure_count(job: Job) -> int:
    """How many genuine failures the job has had."""
    return sum(map(is_genuine_failure, job.runs))


def attempt_count(job: Job) -> int:
    """How many runs may have had a pod, however they ended."""
    return sum(run.attempted for run in job.runs)


def returned_attempt_count(job: Job) -> int:
    """How many leases were returned after a pod may have existed: what the legacy limit bounds beside a policy."""
    return sum(run.attempted and run.returned for run in job.runs)

"""The budgets against a transcription of the specification's own sentences, over every short history there is."""

from itertools import product

import pytest

from refloat_common.core.ids import ExecutorId
from refloat_scheduler.core.model import ErrorKind, Job, JobState, Run, RunState
from refloat_scheduler.core.policies.compiled import CompiledPolicy
from refloat_scheduler.core.retry.settle import Circumstances, Settlement, settle_expiry, settle_failure
from refloat_scheduler.core.retry.texts import lease_expired
from testkit.scheduling.makers import error_of, job_of, policy_of, returned_error, rules_of, run_of

FAILED, EXPIRED, PREEMPTED, RETURNED, SUCCEEDED = ["failed", "expired", "preempted", "returned", "succeeded"]
KINDS = (FAILED, EXPIRED, PREEMPTED, RETURNED, SUCCEEDED)
ATTEMPT_LIMIT = 2
LONGEST = 5


def run(ordinal: int, kind: str) -> Run:
    """A run that ended in this way."""
    match kind:
        case "failed":
            return run_of(ordinal, RunState.FAILED)
        case "expired":
            return run_of(ordinal, RunState.FAILED, error=lease_expired())
        case "preempted":
            return run_of(ordinal, RunState.FAILED, preempted=True, error=error_of(kind=ErrorKind.JOB_RUN_PREEMPTED))
        case "returned":
            return run_of(ordinal, RunState.FAILED, returned=True, error=returned_error())
        case _:
            return run_of(ordinal, RunState.SUCCEEDED)


RUNS = {(ordinal, kind): run(ordinal, kind) for ordinal in range(1, LONGEST + 1) for kind in KINDS}


def specified(history: tuple[str, ...], retry_limit: int, global_max_retries: int) -> bool:
    """Whether the job comes back after its last run, as the section *Retry budgets* has it.

    The rule says Retry; nothing else stands in the way.
    """
    last = history[-1]
    if last == PREEMPTED:
        # "This version does not retry preempted runs themselves."
        return False
    if last == RETURNED:
        # A returned lease "consumes no budget", and the legacy attempt limit "bounds lease returns separately".
        return history.count(RETURNED) < ATTEMPT_LIMIT
    # The kill switch: "with the cap at zero the engine never grants a retry".
    if global_max_retries == 0:
        return False
    # "Preemptions never consume the failure budget"; "An expired lease … consumes both".
    genuine_failures = history.count(FAILED) + history.count(EXPIRED)
    # "retryLimit counts retries, not attempts. retryLimit: 3 allows 3 retries after the initial failure, so 4 total
    # attempts before the job fails terminally."
    attempts_that_the_policy_allows = retry_limit + 1
    # "It counts the same genuine-failure retries retryLimit counts."
    attempts_that_the_scheduler_allows = global_max_retries + 1
    return genuine_failures < attempts_that_the_policy_allows and genuine_failures < attempts_that_the_scheduler_allows


def settled(job: Job, last: str, circumstances: Circumstances) -> Settlement:
    return settle_expiry(job, circumstances) if last == EXPIRED else settle_failure(job, circumstances)


def circumstances(policy: CompiledPolicy, cap: int) -> Circumstances:
    rules = rules_of(policy, global_max_retries=cap, attempt_limit=ATTEMPT_LIMIT)
    return rules.circumstances(job_of(), ExecutorId("exec-1"))


@pytest.mark.parametrize("cap", range(4))
@pytest.mark.parametrize("limit", range(4))
def test_every_history_of_up_to_five_runs(limit: int, cap: int) -> None:
    given = circumstances(policy_of(limit=limit, default="Retry"), cap)
    wrong = []
    for length in range(1, LONGEST + 1):
        for history in product(KINDS, repeat=length):
            if history[-1] == SUCCEEDED:
                continue
            job = job_of(*(RUNS[i + 1, kind] for i, kind in enumerate(history)))
            found = settled(job, history[-1], given)
            if found.retry is not specified(history, limit, cap):
                wrong.append(history)
            assert (found.job.state is JobState.QUEUED) is found.retry
            assert found.decided is (history[-1] in (FAILED, EXPIRED))
    assert wrong == []


@pytest.mark.parametrize("cap", range(4))
@pytest.mark.parametrize("limit", range(4))
def test_over_a_jobs_life_no_more_retries_than_both_limits_allow(limit: int, cap: int) -> None:
    given = circumstances(policy_of(limit=limit, default="Retry"), cap)
    for kind in (FAILED, EXPIRED):
        job, retries = job_of(RUNS[1, kind]), 0
        while settled(job, kind, given).retry:
            retries += 1
            job = job_of(*(RUNS[i + 1, kind] for i in range(retries + 1)))
        assert retries == min(limit, cap)


def test_neutral_runs_change_no_verdict() -> None:
    """Taking every preempted and returned run out of a history leaves each engine verdict as it was."""
    given = circumstances(policy_of(limit=2, default="Retry"), 3)
    for history in product(KINDS, repeat=LONGEST):
        if history[-1] not in (FAILED, EXPIRED):
            continue
        lean = [kind for kind in history if kind not in (PREEMPTED, RETURNED)]
        whole = settled(job_of(*(RUNS[i + 1, kind] for i, kind in enumerate(history))), history[-1], given)
        part = settled(job_of(*(RUNS[i + 1, kind] for i, kind in enumerate(lean))), lean[-1], given)
        assert (whole.retry, whole.explanation.decision, whole.explanation.reason) == (
            part.retry,
            part.explanation.decision,
            part.explanation.reason,
        )

"""What happens to a returned lease where the engine does not decide."""

from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId
from refloat_common.core.taxonomy import ANNOTATION_FAIL_FAST
from refloat_scheduler.core.explanation import MutationChange
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.model import ErrorKind, Job, JobState, MatchExpression, NodeTerm, Run, RunState
from refloat_scheduler.core.reconcile.world import Rules
from refloat_scheduler.core.retry.settle import Settlement, settle_failure
from testkit.scheduling.makers import LABEL, job_of, nodes_of, policy_of, returned_error, rules_of, run_of

ALREADY_EXISTS = 'pods "armada-job-a-0" already exists'
OFF = rules_of(enabled=False)


def settled(job: Job, rules: Rules) -> Settlement:
    return settle_failure(job, rules.circumstances(job, ExecutorId("exec-1")))


def returned(ordinal: int, message: str = "node drained", *, attempted: bool = True) -> Run:
    return run_of(ordinal, RunState.FAILED, returned=True, attempted=attempted, error=returned_error(message))


def test_an_attempted_return_is_tried_again_elsewhere() -> None:
    found = settled(job_of(returned(1)), OFF)
    assert (found.retry, found.error, found.job.state, found.job.queued_version) == (True, None, JobState.QUEUED, 3)
    assert found.job.requirements.node_terms == (NodeTerm((MatchExpression(LABEL, "NotIn", ("node-1",)),)),)
    assert found.explanation.mutations == (MutationChange(kind="avoid", after="node-1", probe=True),)


def test_an_untried_return_is_tried_again_anywhere() -> None:
    job = job_of(returned(1, attempted=False))
    assert settled(job, OFF).job == replace(job, state=JobState.QUEUED, queued_version=3)


def test_no_node_is_left() -> None:
    rules = replace(OFF, probe=Fleet.of(nodes_of("node-1")).fits)
    found = settled(job_of(returned(1, ALREADY_EXISTS)), rules)
    assert found.job.state is JobState.FAILED
    assert found.error == replace(
        returned_error(),
        kind=ErrorKind.MAX_RUNS_EXCEEDED,
        category="internal",
        subcategory="max-runs-exceeded",
        message=(
            "Job was attempted 1 times, and has been tried once on all nodes it can run on - "
            f"this job will no longer be retried\n\nFinal run error:\n{ALREADY_EXISTS}"
        ),
    )


def test_the_limit_names_the_collision() -> None:
    found = settled(job_of(*(returned(i, ALREADY_EXISTS) for i in (1, 2, 3, 4))), OFF)
    assert found.error is not None
    assert found.error.message == (
        "Maximum number of attempts (4) reached - this job will no longer be retried"
        f"\n\nFinal run error:\n{ALREADY_EXISTS}"
    )


def test_fail_fast_is_not_tried_again() -> None:
    found = settled(job_of(returned(1), annotations={ANNOTATION_FAIL_FAST: "true"}), OFF)
    assert found.error is not None
    assert found.error.message.startswith("Job has fail fast flag set - this job will no longer be retried\n")


@pytest.mark.parametrize(("failed", "again"), [(3, False), (2, True)])
def test_without_a_policy_every_attempt_counts_to_the_limit(failed: int, *, again: bool) -> None:
    job = job_of(*(run_of(i + 1, RunState.FAILED) for i in range(failed)), returned(failed + 1))
    assert settled(job, OFF).retry is again


@pytest.mark.parametrize(("returns", "again"), [(4, False), (3, True)])
def test_beside_a_policy_only_returned_attempts_count_to_the_limit(returns: int, *, again: bool) -> None:
    failed = [run_of(i + 1, RunState.FAILED) for i in range(9)]
    untried = [returned(10 + i, attempted=False) for i in range(5)]
    job = job_of(*failed, *untried, *(returned(15 + i) for i in range(returns)))
    fleet = Fleet.of(nodes_of(*(f"node-{i}" for i in range(30))))
    found = settled(job, rules_of(policy_of(), fleet=fleet))
    assert (found.retry, found.explanation.attempts, found.explanation.attempt_limit) == (again, returns, 4)


def test_nodes_of_earlier_failures_are_avoided_too() -> None:
    found = settled(job_of(run_of(1, RunState.FAILED), returned(2)), rules_of(policy_of()))
    assert found.job.record.avoid == ("node-1", "node-2")


def test_a_node_without_the_label_can_not_be_avoided() -> None:
    run = replace(returned(1), node_label="")
    found = settled(job_of(run), OFF)
    assert (found.retry, found.job.requirements.node_terms) == (True, None)
    assert found.explanation.mutations == (
        MutationChange(kind="avoid", skipped="no attempted node is known by its label"),
    )

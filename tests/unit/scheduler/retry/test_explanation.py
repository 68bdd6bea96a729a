"""Every verdict carries what it rests on, and the same comes out when it is computed again from that."""

import json
from dataclasses import replace

from refloat_common.core.ids import ExecutorId, PodUid, RunId
from refloat_scheduler.core.explanation import Explanation, Gate, MutationChange, RuleLook
from refloat_scheduler.core.model import ErrorKind, Job, RunError, RunState
from refloat_scheduler.core.reconcile.world import Rules
from refloat_scheduler.core.retry.engine import decide
from refloat_scheduler.core.retry.settle import Settlement, settle_failure
from testkit.scheduling.makers import JOB, NOW_MS, error_of, job_of, policy_of, rule, rules_of, run_of

POLICY = policy_of(rule("Fail", "user-error"), rule("Retry", "oom", factor=2, avoid=True), limit=3)


def settled(job: Job, rules: Rules) -> Settlement:
    return settle_failure(job, rules.circumstances(job, ExecutorId("exec-1")))


def test_a_retry_explains_itself_whole() -> None:
    job = job_of(run_of(1, RunState.FAILED), run_of(2, RunState.FAILED))
    explanation = settled(job, rules_of(POLICY, settings_hash="s")).explanation
    assert explanation == Explanation(
        run_id=RunId("run-2"),
        job_id=JOB,
        retry=True,
        gate=Gate.PASSED,
        decision="retry",
        reason="matched rule: Retry",
        policy="p",
        policy_hash=POLICY.content_hash,
        category="oom",
        rule_index=1,
        rules=(RuleLook(0, "Fail", "user-error", "", 'category is "oom"'), RuleLook(1, "Retry", "oom", "")),
        default_action="Fail",
        failures=2,
        retries_used=1,
        retries_after=2,
        retry_limit=3,
        global_max_retries=10,
        attempts=0,
        attempt_limit=4,
        mutations=(
            MutationChange(kind="memory", before="1Gi/1Gi", after="2Gi/2Gi", probe=True),
            MutationChange(kind="avoid", after="node-1, node-2", probe=True),
        ),
        settings_hash="s",
        decided_at_ms=NOW_MS,
    )


def test_an_explanation_survives_being_stored() -> None:
    explanation = settled(job_of(run_of(1, RunState.FAILED)), rules_of(POLICY)).explanation
    stored = json.loads(json.dumps(explanation.to_json()))
    assert (stored["gate"], stored["rules"][0]["why"], stored["mutations"][0]["after"]) == (
        "passed",
        'category is "oom"',
        "2Gi/2Gi",
    )


def test_the_verdict_can_be_computed_again_from_what_is_stored() -> None:
    for failures in range(1, 6):
        job = job_of(*(run_of(i + 1, RunState.FAILED) for i in range(failures)))
        kept = settled(job, rules_of(POLICY, global_max_retries=2)).explanation
        error = RunError(kind=ErrorKind.POD_ERROR, category=kept.category, subcategory=kept.subcategory)
        again = decide(POLICY, error, kept.failures, kept.global_max_retries)
        assert kept.policy_hash == POLICY.content_hash
        assert (again.retry, again.decision.value, again.reason, again.rule_index) == (
            kept.retry,
            kept.decision,
            kept.reason,
            kept.rule_index,
        )


def test_an_undecided_failure_says_at_which_gate_it_stopped() -> None:
    explanation = settled(job_of(run_of(1, RunState.FAILED)), rules_of()).explanation
    assert (explanation.gate, explanation.policy, explanation.decision, explanation.rules) == (
        Gate.POLICY_MISSING,
        "p",
        "",
        (),
    )


def test_a_retry_is_held_while_a_pod_that_was_to_be_removed_is_still_there() -> None:
    policy = policy_of(rule("Retry", "oom"), rule("Retry", "internal", "stuck-terminating"))
    cases = {
        "gone": (error_of(), ""),
        "retained": (error_of(pod_gone=False, disposition="Retain"), ""),
        "not gone": (error_of(pod_gone=False), "uid-1"),
        "stuck": (error_of("internal", "stuck-terminating", pod_gone=False, disposition="Retain"), "uid-1"),
        "never seen": (error_of(pod_gone=False, uid=""), ""),
    }
    for name, (error, held) in cases.items():
        found = settled(job_of(run_of(1, RunState.FAILED, error=error)), rules_of(policy))
        assert (found.retry, found.job.hold_for_uid, found.job.leasable) == (True, PodUid(held), not held), name


def test_a_failed_job_is_not_held() -> None:
    error = error_of("other", pod_gone=False)
    found = settled(job_of(run_of(1, RunState.FAILED, error=error)), rules_of(POLICY))
    assert (found.retry, found.job.hold_for_uid) == (False, "")


def test_an_executor_that_does_not_remove_pods_gets_no_decisions() -> None:
    job = job_of(run_of(1, RunState.FAILED))
    found = settled(job, rules_of(POLICY, incapable=[ExecutorId("exec-1")]))
    assert (found.decided, found.retry, found.explanation.gate) == (False, False, Gate.EXECUTOR_NOT_CAPABLE)
    assert replace(found.explanation, gate=Gate.PASSED, attempts=0).policy == ""

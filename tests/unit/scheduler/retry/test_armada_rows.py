"""Armada's scheduler tests of the retry policies, row by row, over whole settlements.

Where the expectation differs from Armada's, the specification says so, and the test says which.
"""

from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId
from refloat_common.core.taxonomy import ANNOTATION_FAIL_FAST, ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_host.core.orders import Order, preempt
from refloat_scheduler.core.effects import EventsAppended, RunChanged, VerdictStored
from refloat_scheduler.core.explanation import Gate
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.model import (
    ContainerResult,
    ErrorKind,
    Job,
    JobState,
    MatchExpression,
    MutationRecord,
    NodeTerm,
    Requirements,
    Run,
    RunState,
)
from refloat_scheduler.core.reconcile.world import Rules
from refloat_scheduler.core.retry.settle import RunErrorMissingError, Settlement, settle_failure
from refloat_scheduler.core.signals import Metric, Sample
from testkit.scheduling.makers import (
    LABEL,
    NOW_MS,
    error_of,
    job_of,
    nodes_of,
    policy_of,
    returned_error,
    rule,
    rules_of,
    run_of,
)

OOM = policy_of(rule("Retry", "oom"), limit=10)


def settled(job: Job, rules: Rules) -> Settlement:
    return settle_failure(job, rules.circumstances(job, ExecutorId("exec-1")))


def failures(count: int, **changes: object) -> list[Run]:
    return [run_of(i + 1, RunState.FAILED, **changes) for i in range(count)]


def decisions(settlement: Settlement) -> list[str]:
    found = [dict(sample.labels) for sample in settlement.samples if sample.metric is Metric.DECISIONS]
    assert all((one["queue"], one["pool"]) == ("queue-a", "default") for one in found)
    return [f"{one['policy']}:{one['decision']}" for one in found]


def test_1_the_default_policy_decides_and_is_named() -> None:
    found = settled(job_of(*failures(1)), rules_of(OOM, queue_policies=(), default_policy="p"))
    assert (found.retry, decisions(found), found.explanation.policy) == (True, ["p:retry"], "p")


def test_2_without_any_policy_nothing_is_decided() -> None:
    found = settled(job_of(*failures(1)), rules_of(OOM, queue_policies=()))
    assert (found.decided, found.retry, found.explanation.gate) == (False, False, Gate.NO_POLICY)


def test_3_without_an_error_nothing_is_decided_and_the_store_is_out_of_step() -> None:
    with pytest.raises(RunErrorMissingError, match=r"no run error found for run run-1 \(job id = job-a\)"):
        settled(job_of(*failures(1, error=None)), rules_of(OOM))


def test_4_a_returned_lease_is_undecided_under_a_policy_that_fails_everything() -> None:
    run = run_of(1, RunState.FAILED, returned=True, error=returned_error())
    found = settled(job_of(run), rules_of(policy_of()))
    assert (found.decided, found.retry, found.explanation.gate) == (False, True, Gate.LEASE_RETURNED)


def test_5_a_matching_retry_rule() -> None:
    job = job_of(*failures(1))
    found = settled(job, rules_of(OOM))
    assert found.job == replace(job, state=JobState.QUEUED, queued_version=3)
    assert (found.retry, found.decided, found.error) == (True, True, error_of())
    assert found.samples == (
        Sample(
            Metric.DECISIONS,
            (("queue", "queue-a"), ("pool", "default"), ("policy", "p"), ("decision", "retry")),
        ),
    )


def test_6_beyond_the_policys_limit() -> None:
    found = settled(job_of(*failures(3)), rules_of(policy_of(rule("Retry", "oom"), limit=2)))
    assert found.job.state is JobState.FAILED
    assert found.job.ended_at_ms == NOW_MS
    assert found.error == error_of(
        kind=ErrorKind.MAX_RUNS_EXCEEDED,
        message="Retry policy: policy retry limit exceeded (2/2)\n\nFinal run error:\ncontainer main was killed",
    )


def test_7_beyond_the_legacy_limit_the_policy_decides() -> None:
    assert settled(job_of(*failures(3)), rules_of(OOM, attempt_limit=2)).retry


def test_8_a_fail_rule_keeps_everything_that_is_known_of_the_pod() -> None:
    error = error_of("user-error", "bad-args", containers=(ContainerResult("main", 137, "Error", "boom"),))
    found = settled(job_of(run_of(1, RunState.FAILED, error=error)), rules_of(policy_of(rule("Fail", "user-error"))))
    assert found.error == replace(
        error,
        kind=ErrorKind.MAX_RUNS_EXCEEDED,
        message=(
            "Retry policy: matched rule: Fail\n\nFinal run error:\n"
            "container main was killed\nmain exited with code 137: boom"
        ),
    )
    assert decisions(found) == ["p:fail_rule"]


def test_9_a_policy_that_is_not_served_leaves_the_legacy_failure() -> None:
    found = settled(job_of(*failures(1)), rules_of())
    assert (found.decided, found.job.state, found.error) == (False, JobState.FAILED, error_of())


def test_10_preempted_runs_are_free() -> None:
    preempted = [run_of(i, RunState.PREEMPTED, preempted=True) for i in (1, 2, 3)]
    job = job_of(*preempted, run_of(4, RunState.FAILED))
    found = settled(job, rules_of(OOM, global_max_retries=2))
    assert (found.retry, found.explanation.failures, found.explanation.retries_used) == (True, 1, 0)


def test_11_the_kill_switch_fails_and_still_names_the_category() -> None:
    found = settled(job_of(*failures(1)), rules_of(OOM, global_max_retries=0))
    assert found.job.state is JobState.FAILED
    assert decisions(found) == ["p:fail_global_limit"]
    assert found.error is not None
    assert (found.error.category, found.error.message.partition("\n")[0]) == (
        "oom",
        "Retry policy: global max retries is 0, retries disabled",
    )


@pytest.mark.parametrize("mutate", [{"factor": 1.5}, {"static": "512Mi"}])
def test_14_memory_grows_in_request_and_limit(mutate: dict[str, float | str]) -> None:
    policy = policy_of({**rule("Retry", "oom"), "mutate": {"resources": {"memory": mutate}}})
    found = settled(job_of(*failures(1)), rules_of(policy))
    assert found.job.requirements == Requirements(requests={"memory": "1536Mi"}, limits={"memory": "1536Mi"})
    assert found.job.record == MutationRecord(
        memory_factor=float(mutate.get("factor", 0)), memory_static=str(mutate.get("static", "")), version=1
    )


def test_15_grown_beyond_every_node() -> None:
    fleet = Fleet.of(nodes_of("node-1", memory="1Gi"))
    job = job_of(*failures(1))
    found = settled(job, rules_of(policy_of(rule("Retry", "oom", factor=1.5)), fleet=fleet))
    assert found.job == replace(job, state=JobState.FAILED, ended_at_ms=NOW_MS)
    assert decisions(found) == ["p:retry_unschedulable"]
    assert found.error is not None
    assert found.error.message.startswith(
        "Retry policy: retry granted, but the job grown by the rule's memory bump fits no node\n"
    )


def test_16_growth_compounds_and_the_other_kind_is_skipped() -> None:
    factor, static = rule("Retry", "oom", factor=1.5), rule("Retry", "other", static="1Gi")
    rules = rules_of(policy_of(factor, static, limit=10))
    once = settled(job_of(*failures(1)), rules).job
    twice = settled(replace(once, state=JobState.LEASED, runs=tuple(failures(2))), rules).job
    assert (twice.requirements.requests["memory"], twice.record.memory_factor) == ("2304Mi", 2.25)
    other = [*failures(2), run_of(3, RunState.FAILED, error=error_of("other"))]
    thrice = settled(replace(twice, state=JobState.LEASED, runs=tuple(other)), rules)
    assert thrice.retry
    assert (thrice.job.requirements, thrice.job.record) == (twice.requirements, twice.record)
    assert [note.text for note in thrice.notes] == [
        "skipping memory bump for job job-a: the bump kind differs from the job's accumulated record"
    ]


def test_17_every_attempted_node_is_avoided() -> None:
    job = job_of(*failures(2))
    found = settled(job, rules_of(policy_of(rule("Retry", "oom", avoid=True))))
    assert found.job.requirements.node_terms == (NodeTerm((MatchExpression(LABEL, "NotIn", ("node-1", "node-2")),)),)
    assert found.job.record == MutationRecord(avoid=("node-1", "node-2"), version=1)


def test_nodes_where_nothing_was_tried_are_not_avoided() -> None:
    job = job_of(run_of(1, RunState.FAILED), run_of(2, RunState.FAILED, attempted=False))
    found = settled(job, rules_of(policy_of(rule("Retry", "oom", avoid=True))))
    assert found.job.record.avoid == ("node-1",)


def test_18_no_untried_node() -> None:
    fleet = Fleet.of(nodes_of("node-1"))
    job = job_of(*failures(1))
    found = settled(job, rules_of(policy_of(rule("Retry", "oom", avoid=True)), fleet=fleet))
    assert found.job == replace(job, state=JobState.FAILED, ended_at_ms=NOW_MS)
    assert decisions(found) == ["p:retry_unschedulable"]
    assert found.error is not None
    assert found.error.message.startswith("Retry policy: retry granted, but no untried node fits the job\n")


def test_19_without_a_mutation_nothing_is_probed() -> None:
    def refuse(_requirements: Requirements) -> bool:
        raise AssertionError("the probe was asked")

    found = settled(job_of(*failures(1)), replace(rules_of(OOM), probe=refuse))
    assert found.retry
    assert found.job.requirements.node_terms is None


def test_20_with_the_flag_off_the_error_is_told_as_it_is() -> None:
    found = settled(job_of(*failures(1)), rules_of(OOM, enabled=False, default_policy="p"))
    assert (found.decided, found.job.state, found.error, found.samples) == (False, JobState.FAILED, error_of(), ())


def test_21_a_preemption_over_the_api_is_told_as_ever_and_the_engine_is_not_asked() -> None:
    job = job_of(run_of(1))
    carried = preempt(job, Order("somebody", "room"), NOW_MS)
    assert carried is not None
    told = [event.NAME for effect in carried.effects if isinstance(effect, EventsAppended) for event in effect.events]
    assert told == ["preempting", "preempted", "failed"]
    assert not [effect for effect in carried.effects if isinstance(effect, VerdictStored)]
    [run] = [effect.run for effect in carried.effects if isinstance(effect, RunChanged)]
    assert (run.state, run.preempted) == (RunState.PREEMPTED, True)


def test_23_fail_fast_tells_the_error_as_it_is() -> None:
    found = settled(job_of(*failures(1), annotations={ANNOTATION_FAIL_FAST: "true"}), rules_of(OOM))
    assert (found.decided, found.job.state, found.error) == (False, JobState.FAILED, error_of())


def test_24_a_gang_is_not_retried_and_counted() -> None:
    gang = {ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "2"}
    found = settled(job_of(*failures(1), annotations=gang), rules_of(OOM))
    assert (found.decided, found.job.state, found.error) == (False, JobState.FAILED, error_of())
    assert found.samples == (Sample(Metric.GANG_SKIPPED, (("policy", "p"),)),)


def test_a_preempted_run_does_not_bring_its_job_back() -> None:
    run = run_of(1, RunState.FAILED, preempted=True)
    found = settled(job_of(run), rules_of(policy_of(default="Retry")))
    assert (found.decided, found.retry, found.job.state) == (False, False, JobState.PREEMPTED)


def test_growing_and_avoiding_probe_one_after_the_other() -> None:
    asked: list[Requirements] = []

    def note(requirements: Requirements) -> bool:
        asked.append(requirements)
        return True

    rules = replace(rules_of(policy_of(rule("Retry", "oom", avoid=True, factor=2))), probe=note)
    found = settled(job_of(*failures(1)), rules)
    assert [(one.requests["memory"], one.node_terms is None) for one in asked] == [("2Gi", True), ("2Gi", False)]
    assert found.job.record == MutationRecord(memory_factor=2.0, avoid=("node-1",), version=2)

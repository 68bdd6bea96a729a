"""The gates before the engine, in their order: each test closes one gate and every one after it."""

from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId
from refloat_common.core.taxonomy import ANNOTATION_FAIL_FAST, ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_scheduler.core.explanation import Gate
from refloat_scheduler.core.model import ErrorKind, Job, RunState
from refloat_scheduler.core.retry.gates import (
    GangAnnotationError,
    Passage,
    RetrySettings,
    gang_cardinality,
    is_fail_fast,
    pass_gates,
)
from refloat_scheduler.core.signals import Level, Metric, Note, Sample
from testkit.scheduling.makers import error_of, job_of, policy_of, returned_error, rule, run_of

ON = RetrySettings(enabled=True)
POLICY = policy_of(rule("Retry", "oom"))
GANG = {ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "2"}
FAIL_FAST = {ANNOTATION_FAIL_FAST: "true"}
FAILED = run_of(1, RunState.FAILED)


def passage(
    job: Job, queue: tuple[str, ...] | None = ("p",), settings: RetrySettings = ON, *, capable: bool = True
) -> Passage:
    return pass_gates(job, job.runs[-1], queue, {"p": POLICY}, settings, capable=capable)


def test_everything_open() -> None:
    assert passage(job_of(FAILED)) == Passage(Gate.PASSED, "p", POLICY)


def test_the_flag_comes_first() -> None:
    job = job_of(FAILED, annotations=GANG | FAIL_FAST)
    off = RetrySettings(enabled=False, default_policy="p")
    assert passage(job, ("missing",), off, capable=False) == Passage(Gate.FLAG_OFF)


def test_then_the_executors_capability() -> None:
    job = job_of(FAILED, annotations=GANG | FAIL_FAST)
    sample = Sample(Metric.NOT_CAPABLE, (("executor", ExecutorId("exec-1")),))
    assert passage(job, ("missing",), capable=False) == Passage(Gate.EXECUTOR_NOT_CAPABLE, samples=(sample,))


@pytest.mark.parametrize("queue", [None, ()])
def test_then_whether_any_policy_is_named(queue: tuple[str, ...] | None) -> None:
    job = job_of(FAILED, annotations=GANG | FAIL_FAST)
    assert passage(job, queue) == Passage(Gate.NO_POLICY)


def test_a_gang_is_counted_before_its_policy_is_looked_up_and_before_fail_fast() -> None:
    job = job_of(FAILED, annotations=GANG | FAIL_FAST)
    assert passage(job, ("missing",)) == Passage(
        Gate.GANG,
        "missing",
        notes=(Note(Level.DEBUG, 'job job-a is in a gang: retry policy "missing" does not decide its failure'),),
        samples=(Sample(Metric.GANG_SKIPPED, (("policy", "missing"),)),),
    )


def test_fail_fast_comes_before_a_missing_policy() -> None:
    assert passage(job_of(FAILED, annotations=FAIL_FAST), ("missing",)) == Passage(Gate.FAIL_FAST, "missing")


def test_an_attached_policy_that_is_missing_does_not_fall_back_to_the_default() -> None:
    text = 'retry policy "missing" referenced by queue "queue-a" not found in cache; falling back to legacy behaviour'
    found = passage(job_of(FAILED), ("missing", "p"), replace(ON, default_policy="p"))
    assert found == Passage(
        Gate.POLICY_MISSING,
        "missing",
        notes=(Note(Level.WARNING, text),),
        samples=(Sample(Metric.POLICY_MISSING, (("queue", "queue-a"), ("policy", "missing"))),),
    )


def test_a_missing_policy_comes_before_a_missing_error() -> None:
    assert passage(job_of(run_of(1, RunState.FAILED, error=None)), ("missing",)).gate is Gate.POLICY_MISSING


def test_without_an_error_nothing_is_decided() -> None:
    run = run_of(1, RunState.FAILED, error=None, preempted=True)
    assert passage(job_of(run)) == Passage(Gate.NO_ERROR, "p", POLICY)


def test_a_returned_lease_is_never_decided() -> None:
    run = run_of(1, RunState.FAILED, error=returned_error(), preempted=True)
    assert passage(job_of(run)) == Passage(Gate.LEASE_RETURNED, "p", POLICY)


def test_a_preempted_run_is_never_decided() -> None:
    assert passage(job_of(replace(FAILED, preempted=True))) == Passage(Gate.PREEMPTED, "p", POLICY)


def test_a_lost_executor_is_no_preemption() -> None:
    run = replace(FAILED, preempted=True, error=error_of(kind=ErrorKind.LEASE_EXPIRED))
    assert passage(job_of(run)).gate is Gate.PASSED


def test_only_the_first_policy_of_a_queue_counts() -> None:
    assert passage(job_of(FAILED), ("p", "missing")).policy_name == "p"


def test_the_default_policy_serves_queues_without_one() -> None:
    settings = replace(ON, default_policy="p")
    assert [passage(job_of(FAILED), queue, settings).policy_name for queue in (None, (), ("p",))] == ["p"] * 3


def test_a_gang_of_one_is_a_plain_job() -> None:
    one = {ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "1"}
    assert passage(job_of(FAILED, annotations=one)).gate is Gate.PASSED


def test_a_cardinality_without_an_id_is_no_gang() -> None:
    assert passage(job_of(FAILED, annotations={ANNOTATION_GANG_CARDINALITY: "4"})).gate is Gate.PASSED


def test_gang_annotations_that_make_no_sense_are_never_retried() -> None:
    assert passage(job_of(FAILED, annotations={ANNOTATION_GANG_ID: "g"})).gate is Gate.GANG


@pytest.mark.parametrize(("cardinality", "count"), [("1", 1), ("+2", 2), ("100", 100), ("007", 7)])
def test_cardinality(cardinality: str, count: int) -> None:
    assert gang_cardinality({ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: cardinality}) == count


@pytest.mark.parametrize(
    ("annotations", "error"),
    [
        ({ANNOTATION_GANG_ID: "", ANNOTATION_GANG_CARDINALITY: "2"}, "gang id is empty"),
        ({ANNOTATION_GANG_ID: "g"}, f"gang cardinality annotation {ANNOTATION_GANG_CARDINALITY} is missing"),
        ({ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "0"}, "gang cardinality 0 is non-positive"),
        ({ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "-2"}, "gang cardinality -2 is non-positive"),
        ({ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: " 2"}, 'not parseable - " 2" is no whole number'),
        ({ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "²"}, 'not parseable - "²" is no whole number'),
        ({ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "9" * 99}, "no whole number"),
    ],
)
def test_gang_annotations_that_are_refused(annotations: dict[str, str], error: str) -> None:
    with pytest.raises(GangAnnotationError) as caught:
        gang_cardinality(annotations)
    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("True", False), ("1", False), (" true", False), ("", False)]
)
def test_fail_fast_is_exactly_true(value: str, *, expected: bool) -> None:
    assert is_fail_fast(job_of(FAILED, annotations={ANNOTATION_FAIL_FAST: value})) is expected

"""What an explanation says about the rules before the deciding one."""

import pytest

from refloat_common.core.categories import Classification, Evidence, Explanation, Facts, Rejection, explain, failure_of
from refloat_common.core.taxonomy import Disposition
from testkit.category_makers import (
    OOM,
    Block,
    by_rule,
    category,
    event_says,
    exit_in,
    exit_not_in,
    pod_says,
    rules,
    says,
)
from testkit.pod_makers import ended, event, pod

EXIT_1 = failure_of(pod(ended("main", 1, message="boom")), [event("Warning", "Failed", "x")])
SILENT = failure_of(pod(), message="")


def test_rules_before_the_deciding_one_and_none_after() -> None:
    compiled = rules(category("a", OOM, exit_in(2)), category("b", exit_in(1)), category("c", exit_in(3)))
    assert explain(compiled, EXIT_1) == Explanation(
        by_rule("b"),
        (
            Rejection("a", 0, "none of OOMKilled holds"),
            Rejection("a", 1, "exit code 1 is not among 2"),
        ),
    )


def test_every_rule_before_the_default() -> None:
    compiled = rules(category("a", exit_in(2)), defaultCategory="other")
    assert explain(compiled, EXIT_1) == Explanation(
        Classification("other"), (Rejection("a", 0, "exit code 1 is not among 2"),)
    )


@pytest.mark.parametrize(
    ("rule", "evidence", "why"),
    [
        (exit_in(2, 3), EXIT_1, "exit code 1 is not among 2, 3"),
        (exit_in(*range(2, 20)), EXIT_1, "exit code 1 is not among 2, 3, 4, 5, 6, 7, 8, 9, …"),
        (exit_not_in(1), EXIT_1, "exit code 1 is among 1"),
        (exit_in(1), SILENT, "no container ended with an exit code other than 0"),
        (exit_in(1, containerName="log"), EXIT_1, "container log did not end with an exit code other than 0"),
        (OOM, EXIT_1, "none of OOMKilled holds"),
        ({**OOM, "containerName": "main"}, EXIT_1, "none of OOMKilled holds in container main"),
        ({"onConditions": ["Evicted", "DeadlineExceeded"]}, EXIT_1, "none of Evicted, DeadlineExceeded holds"),
        (says("bang"), EXIT_1, "the termination message of main does not contain the pattern"),
        (says("bang"), failure_of(pod(ended("main", 1))), "no failed container left a termination message"),
        (pod_says("bang"), EXIT_1, "the text about the pod does not contain the pattern"),
        (pod_says("bang"), SILENT, "there is no text about the pod"),
        (event_says("bang"), SILENT, "there are no events"),
        (event_says("bang", kind="Normal"), EXIT_1, "there is no Normal event"),
        (event_says("x", reason="BackOff"), EXIT_1, "no Warning event has the reason BackOff"),
        (event_says("bang"), EXIT_1, "none of 1 Warning events contains the pattern"),
    ],
)
def test_why_a_rule_does_not_match(rule: Block, evidence: Evidence, why: str) -> None:
    assert explain(rules(category("a", rule)), evidence).rejected == (Rejection("a", 0, why),)


def test_a_rule_that_matches_but_does_not_count_for_a_deleted_pod() -> None:
    compiled = rules(category("killed", exit_in(1)), category("oom", OOM))
    assert explain(compiled, EXIT_1, Facts(deleted_by_other=True)) == Explanation(
        Classification("internal", "externally-deleted", "", Disposition.DELETE),
        (
            Rejection("killed", 0, "it matches, but somebody else deleted the pod, which explains that"),
            Rejection("oom", 0, "none of OOMKilled holds"),
        ),
    )

"""The engine's order of checks: every row of Armada's engine test."""

import pytest

from refloat_scheduler.core.explanation import Decision, RuleLook
from refloat_scheduler.core.policies.compiled import CompiledPolicy, Mutation
from refloat_scheduler.core.retry.engine import Verdict, decide, rules_looked_at
from testkit.scheduling.makers import error_of, policy_of, rule

R, F = "Retry", "Fail"
BY_DEFAULT = "no rule matched, using default action"


def verdict(decision: Decision, reason: str, index: int | None = None, mutation: Mutation | None = None) -> Verdict:
    return Verdict(decision is Decision.RETRY, decision, reason, index, mutation or Mutation())


@pytest.mark.parametrize(
    ("policy", "category", "failures", "cap", "expected"),
    [
        pytest.param(
            policy_of(rule(F, "gpu"), limit=10, default=R), ("gpu", "transient"), 1, 10,
            verdict(Decision.FAIL_RULE, "matched rule: Fail", 0), id="1 a Fail rule on the category",
        ),
        pytest.param(
            policy_of(rule(F, "gpu", "transient"), limit=10, default=R), ("gpu", "transient"), 1, 10,
            verdict(Decision.FAIL_RULE, "matched rule: Fail", 0), id="2 a Fail rule on the subcategory",
        ),
        pytest.param(
            policy_of(rule(R, "oom", avoid=True), limit=10), ("oom", ""), 1, 10,
            verdict(Decision.RETRY, "matched rule: Retry", 0, Mutation(avoid_same_node=True)),
            id="3 a Retry rule brings its mutation",
        ),
        pytest.param(
            policy_of(rule(F, "user-error"), limit=10, default=R), ("", ""), 1, 10,
            verdict(Decision.RETRY, BY_DEFAULT), id="4 the default retries without a mutation",
        ),
        pytest.param(
            policy_of(rule(R, "transient"), limit=10), ("transient", ""), 1, 10,
            verdict(Decision.RETRY, "matched rule: Retry", 0), id="5 a Retry rule",
        ),
        pytest.param(
            policy_of(rule(F, "gpu", "permanent"), limit=10, default=R), ("gpu", "transient"), 1, 10,
            verdict(Decision.RETRY, BY_DEFAULT), id="6 another subcategory",
        ),
        pytest.param(
            policy_of(rule(F, "network"), limit=10, default=R), ("gpu", ""), 1, 10,
            verdict(Decision.RETRY, BY_DEFAULT), id="7 another category",
        ),
        pytest.param(
            policy_of(limit=10, default=R), ("oom", ""), 6, 5,
            verdict(Decision.FAIL_GLOBAL_LIMIT, "global max retries exceeded (5/5)"), id="8 the global cap",
        ),
        pytest.param(
            policy_of(limit=3, default=R), ("oom", ""), 4, 100,
            verdict(Decision.FAIL_POLICY_LIMIT, "policy retry limit exceeded (3/3)"), id="9 the policy's limit",
        ),
        pytest.param(
            policy_of(limit=0, default=R), ("oom", ""), 1, 10,
            verdict(Decision.FAIL_POLICY_LIMIT, "policy retry limit exceeded (0/0)"), id="10 no retries at all",
        ),
        pytest.param(
            policy_of(limit=10, default=R), None, 1, 10,
            verdict(Decision.NO_ERROR, "no error information available"), id="11 no error",
        ),
        pytest.param(
            policy_of(limit=10), ("oom", ""), 1, 10,
            verdict(Decision.FAIL_DEFAULT, BY_DEFAULT), id="12 no rules, default Fail",
        ),
        pytest.param(
            policy_of(rule(R, "oom"), limit=10, default=R), ("oom", ""), 1, 0,
            verdict(Decision.FAIL_GLOBAL_LIMIT, "global max retries is 0, retries disabled"), id="13 the kill switch",
        ),
        pytest.param(
            policy_of(rule(F, "gpu"), rule(R, "gpu", "transient"), limit=10), ("gpu", "transient"), 1, 10,
            verdict(Decision.FAIL_RULE, "matched rule: Fail", 0), id="14 the first matching rule",
        ),
        pytest.param(
            policy_of(rule(R, "gpu"), limit=10), ("", ""), 1, 10,
            verdict(Decision.FAIL_DEFAULT, BY_DEFAULT), id="15 uncategorized goes by the default",
        ),
        pytest.param(
            policy_of(rule(F, "oom"), limit=0, default=R), ("oom", ""), 2, 1,
            verdict(Decision.FAIL_GLOBAL_LIMIT, "global max retries exceeded (1/1)"),
            id="the global cap comes before the rules",
        ),
        pytest.param(
            policy_of(rule(F, "oom"), limit=0, default=R), ("oom", ""), 1, 1,
            verdict(Decision.FAIL_RULE, "matched rule: Fail", 0), id="a Fail rule comes before the policy's limit",
        ),
        pytest.param(
            policy_of(rule(R, "OOM"), limit=10), ("oom", ""), 1, 10,
            verdict(Decision.FAIL_DEFAULT, BY_DEFAULT), id="matching heeds case",
        ),
        pytest.param(
            policy_of(rule(R, "größe"), limit=10), ("gro\u0308ße", ""), 1, 10,
            verdict(Decision.FAIL_DEFAULT, BY_DEFAULT), id="matching goes by bytes",
        ),
    ],
)  # fmt: skip
def test_verdict(
    policy: CompiledPolicy, category: tuple[str, str] | None, failures: int, cap: int, expected: Verdict
) -> None:
    error = None if category is None else error_of(*category)
    assert decide(policy, error, failures, cap) == expected


@pytest.mark.parametrize(
    ("limit", "cap", "granted", "last"),
    [(3, 5, 3, "policy retry limit exceeded (3/3)"), (9, 5, 5, "global max retries exceeded (5/5)")],
)
def test_worked_counts(limit: int, cap: int, granted: int, last: str) -> None:
    policy = policy_of(rule("Retry", "oom"), limit=limit)
    verdicts = [decide(policy, error_of(), failures, cap) for failures in range(1, granted + 2)]
    assert [verdict.retry for verdict in verdicts] == [True] * granted + [False]
    assert verdicts[-1].reason == last


def test_the_first_match_is_the_first_however_specific_the_others_are() -> None:
    policy = policy_of(rule("Retry", "gpu", "xid"), rule("Fail", "gpu"), rule("Retry", "gpu", "late"))
    assert [policy.first_match("gpu", sub) for sub in ("xid", "", "late")] == [0, 1, 1]
    assert policy.first_match("other", "xid") is None


def test_the_rules_looked_at_end_with_the_one_that_matched() -> None:
    policy = policy_of(
        rule("Fail", "user-error"), rule("Retry", "oom", "kernel"), rule("Retry", "oom"), rule("Fail", "x")
    )
    assert rules_looked_at(policy, error_of("oom", "main")) == (
        RuleLook(0, "Fail", "user-error", "", 'category is "oom"'),
        RuleLook(1, "Retry", "oom", "kernel", 'subcategory is "main"'),
        RuleLook(2, "Retry", "oom", ""),
    )
    assert [look.why for look in rules_looked_at(policy, error_of("none"))] == ['category is "none"'] * 4

"""The specification's sections *Policy format*, *Matching semantics* and *Match fields*."""

import json

import pytest

from refloat_common.core.jsontypes import JsonObject
from refloat_ctl.core.resources.policies import read_policy as read_file
from refloat_ctl.core.text.reading import read_text
from refloat_host.core.errors import InvalidRetryPolicyError, PoliciesMissingError
from refloat_host.services.policies import read_policy
from refloat_scheduler.core.model import JobState
from refloat_scheduler.core.policies.cache import refreshed
from refloat_scheduler.core.policies.compiled import compile_policy
from refloat_scheduler.core.retry.engine import Verdict, decide, rules_looked_at
from testkit.scheduling.makers import error_of, policy_of
from testkit.style.tree import ROOT
from testkit.whole.system import CATEGORIES, System, exits, live, named, rule

EXAMPLE = ROOT / "tests/data/specification/retry-policy.yaml"


def verdict(*rules: object, default: str = "Fail", category: str = "gpu", subcategory: str = "") -> Verdict:
    """What a policy with these rules says of a first failure."""
    policy = policy_of(*rules, default=default)  # type: ignore[arg-type]  # rules are JSON
    return decide(policy, error_of(category, subcategory), 1, 5)


# ---- Policy format


@pytest.mark.parametrize(
    ("category", "retried"),
    [
        (("user-error", ""), False),
        (("gpu", "transient"), True),
        (("gpu", "permanent"), False),
        (("internal", "lease-expired"), True),
        (("oom", ""), False),
    ],
)
def test_the_example_policy_decides_as_its_comments_say(category: tuple[str, str], *, retried: bool) -> None:
    policy = compile_policy(read_file(read_text(EXAMPLE.read_text(encoding="utf-8"))))
    assert (policy.name, policy.retry_limit) == ("ml-training-retries", 3)
    assert [decide(policy, error_of(*category), failures, 9).retry for failures in (1, 3, 4)] == [
        retried,
        retried,
        False,
    ]


def test_a_name_stands_for_one_policy_and_queues_refer_to_it() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", default="Fail")
        assert [policy.name for policy in await s.daemon.policies.list()] == ["p"]
        job_id = await s.submit(exits(1))
        assert len((await s.ended(job_id)).runs) == 1
        with pytest.raises(PoliciesMissingError, match='"nobody"'):
            await s.queue("q", "p", "nobody")

    live(scenario)


def test_the_limit_is_the_number_of_retries_after_the_first_failure() -> None:
    async def scenario(s: System) -> None:
        for limit in (0, 1, 2):
            await s.policy("p", limit=limit)
            job = await s.ended(await s.submit(exits(1)))
            assert len(job.runs) == 1 + limit

    live(scenario)


@pytest.mark.parametrize(("default", "retried"), [("Retry", True), ("Fail", False)])
def test_the_default_action_is_applied_when_no_rule_matches(default: str, *, retried: bool) -> None:
    found = verdict(rule("Fail", "oom"), rule("Retry", "app"), default=default)
    assert (found.retry, found.rule_index, found.reason) == (retried, None, "no rule matched, using default action")


@pytest.mark.parametrize("default", ["", "Ignore", None])
def test_a_policy_without_one_of_the_two_default_actions_is_refused(default: str | None) -> None:
    with pytest.raises(InvalidRetryPolicyError, match=r"default action \(Fail or Retry\)|no RetryAction of name"):
        read_policy({"name": "p", "defaultAction": default})


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"onCategory": "oom"}, "rule 1: action must be Fail or Retry"),
        ({"action": "Retry"}, "rule 1: on_category must be set"),
        ({"action": "Pause", "onCategory": "oom"}, r'rules\[1\].action: no RetryAction of name "Pause"'),
    ],
    ids=["no-action", "no-field", "other-action"],
)
def test_each_rule_has_an_action_and_a_match_field(broken: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidRetryPolicyError, match=why):
        read_policy({"name": "p", "defaultAction": "Fail", "rules": [rule("Retry", "oom"), broken]})


# ---- Matching semantics


def test_rules_match_on_the_category_that_the_executor_gave_and_on_nothing_else() -> None:
    """Two failures that differ in everything but the category are judged alike, and the other way round."""

    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "gpu"), default="Fail")
        states = [(await s.ended(await s.submit(exits(code, 1)))).state for code in (21, 22, 1)]
        assert states == [JobState.SUCCEEDED, JobState.SUCCEEDED, JobState.FAILED]

    live(scenario)


def test_rules_are_tried_from_top_to_bottom() -> None:
    rules = [rule("Fail", "app"), rule("Retry", "gpu", "transient"), rule("Fail", "gpu"), rule("Retry", "oom")]
    policy = policy_of(*rules)
    for category, index in ((("app", ""), 0), (("gpu", "transient"), 1), (("gpu", "x"), 2), (("oom", ""), 3)):
        looks = rules_looked_at(policy, error_of(*category))
        assert [look.index for look in looks] == list(range(index + 1))
        assert [bool(look.why) for look in looks] == [True] * index + [False]
        assert decide(policy, error_of(*category), 1, 5).rule_index == index


@pytest.mark.parametrize(("first", "retried"), [("Fail", False), ("Retry", True)])
def test_the_first_match_wins_and_later_rules_are_not_consulted(first: str, *, retried: bool) -> None:
    other = "Retry" if first == "Fail" else "Fail"
    found = verdict(rule(first, "gpu"), rule(other, "gpu", "transient"), rule(other, "gpu"), subcategory="transient")
    assert (found.retry, found.rule_index) == (retried, 0)


def test_no_match_leaves_it_to_the_default_action_end_to_end() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Fail", "oom"), default="Retry", limit=1)
        job_id = await s.submit(exits(1, 1))
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED
        [first] = await s.verdicts(job_id)
        assert (first["rule_index"], first["default_action"]) == (None, "Retry")

    live(scenario)


def test_the_order_of_the_rules_is_the_operators() -> None:
    """A specific rule in front of a general one is reached; behind it, it never is. Nothing is put into order."""
    specific, general = rule("Retry", "gpu", "transient"), rule("Fail", "gpu")
    assert verdict(specific, general, subcategory="transient").retry
    assert not verdict(general, specific, subcategory="transient").retry


def test_fatal_first_then_transient_then_fail_works_as_a_safety_net() -> None:
    rules = [rule("Fail", "user-error"), rule("Retry", "gpu", "transient"), rule("Retry", "internal", "node-failure")]
    cases = {("user-error", ""): False, ("gpu", "transient"): True, ("internal", "node-failure"): True}
    cases |= {("gpu", "permanent"): False, ("internal", "pod-missing"): False, ("", ""): False}
    for (category, subcategory), retried in cases.items():
        assert verdict(*rules, category=category, subcategory=subcategory).retry is retried, (category, subcategory)


# ---- Match fields


def test_a_category_in_a_rule_is_the_one_that_the_failure_was_given() -> None:
    policy = policy_of(*(rule("Retry", name) for name in ("internal", "gpu", "user-error")))
    for index, name in enumerate(("internal", "gpu", "user-error")):
        assert decide(policy, error_of(name), 1, 5).rule_index == index
    assert decide(policy, error_of("oom"), 1, 5).rule_index is None


def test_the_executors_rules_define_which_categories_there_are() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "flaky-disk"), default="Fail")
        job_id = await s.submit(exits(77, 1))
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED

    live(scenario, categories=(*CATEGORIES, named("flaky-disk", 77)))


def test_a_subcategory_narrows_a_category() -> None:
    narrow, wide = rule("Retry", "gpu", "transient"), rule("Retry", "gpu")
    assert [verdict(narrow, subcategory=sub).retry for sub in ("transient", "permanent", "")] == [True, False, False]
    assert [verdict(wide, subcategory=sub).retry for sub in ("transient", "permanent", "")] == [True] * 3


def test_a_subcategory_without_a_category_is_refused_and_never_served() -> None:
    lonely: JsonObject = {
        "name": "p",
        "defaultAction": "Fail",
        "rules": [{"action": "Retry", "onSubcategory": "transient"}],
    }
    with pytest.raises(InvalidRetryPolicyError, match="rule 0: on_category must be set"):
        read_policy(lonely)
    answer = refreshed([lonely], 0.0)
    assert (dict(answer.cache.policies), answer.cache.skipped) == ({}, ("p",))


@pytest.mark.parametrize("category", ["GPU", "gpu ", " gpu", "g\u0440u", "gpu\u0000", "gp", "gpus"])
def test_names_match_byte_for_byte(category: str) -> None:
    assert not verdict(rule("Retry", "gpu"), category=category).retry
    assert not verdict(rule("Retry", "gpu", "transient"), subcategory=category).retry
    assert not verdict(rule("Retry", "gpu", category), subcategory="gpu").retry
    assert verdict(rule("Retry", category), category=category).retry


def test_composed_and_decomposed_letters_are_different_names() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert verdict(rule("Retry", composed), category=composed).retry
    assert not verdict(rule("Retry", composed), category=decomposed).retry


SIGNALS = {
    "onExitCodes": {"operator": "In", "values": [42]},
    "onConditions": ["OOMKilled"],
    "onTerminationMessage": {"pattern": "x"},
}


@pytest.mark.parametrize("field", SIGNALS)
def test_a_rule_on_a_signal_is_refused_by_its_name_instead_of_being_ignored(field: str) -> None:
    broken = {"action": "Retry", "onCategory": "gpu", field: SIGNALS[field]}
    head = {"apiVersion": "armadaproject.io/v1beta1", "kind": "RetryPolicy", "name": "p", "defaultAction": "Fail"}
    with pytest.raises(ValueError, match=f'unknown field "{field}"'):
        read_file(read_text(json.dumps({**head, "rules": [broken]})))


@pytest.mark.parametrize(
    ("matcher", "script"),
    [
        ({"onExitCodes": {"operator": "In", "values": [42]}}, {"outcome": "exit", "code": 42}),
        ({"onConditions": ["Evicted"]}, {"outcome": "evicted"}),
        (
            {"onTerminationMessage": {"pattern": "ECC error"}},
            {"outcome": "exit", "code": 1, "message": "uncorrectable ECC error"},
        ),
    ],
    ids=["exit-code", "condition", "message"],
)
def test_a_signal_is_expressed_by_a_category_of_the_executor(
    matcher: dict[str, object], script: dict[str, object]
) -> None:
    category = {"name": "signal", "action": "Delete", "rules": [matcher]}

    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "signal"), default="Fail")
        cases = [{"when": {"attempts": [1]}, **script}, {"outcome": "succeed"}]
        job_id = await s.submit(json.dumps({"cases": cases}))
        job = await s.ended(job_id)
        assert (job.state, len(job.runs)) == (JobState.SUCCEEDED, 2)

    live(scenario, categories=(category,))  # type: ignore[arg-type]  # it is JSON

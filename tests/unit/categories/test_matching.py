"""Corners of the matchers that Armada's table leaves out."""

import pytest

from refloat_common.core.categories import Classification, classify, failure_of
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
from testkit.pod_makers import ended, event, pod, running


@pytest.mark.parametrize("rule", [exit_in(0), exit_not_in(1), exit_in(0, 1)])
def test_exit_code_0_never_matches(rule: Block) -> None:
    assert classify(rules(category("zero", rule)), failure_of(pod(ended("main", 0, "Completed")))) == Classification()


def test_negative_exit_codes_match() -> None:
    compiled = rules(category("windows", exit_in(-1073741819)))
    assert classify(compiled, failure_of(pod(ended("main", -1073741819)))) == by_rule("windows")


def test_not_in_of_one_container_and_in_of_another_keep_their_order() -> None:
    compiled = rules(category("helper", exit_not_in(3, containerName="helper")), category("any", exit_in(3)))
    assert classify(compiled, failure_of(pod(ended("helper", 3), ended("main", 7)))) == by_rule("any")
    assert classify(compiled, failure_of(pod(ended("main", 3), ended("helper", 4)))) == by_rule("helper")


def test_a_rule_for_every_container_also_reads_named_ones() -> None:
    compiled = rules(category("main", says("x", containerName="main")), category("any", says("disk")))
    assert classify(compiled, failure_of(pod(ended("main", 1, message="disk full")))) == by_rule("any")


def test_a_running_container_says_nothing() -> None:
    assert classify(rules(category("any", exit_not_in(0))), failure_of(pod(running("main")))) == Classification()


def test_conditions_take_any_of_the_list() -> None:
    compiled = rules(category("gone", {"onConditions": ["OOMKilled", "Evicted"]}))
    assert classify(compiled, failure_of(pod(reason="Evicted"))) == by_rule("gone")
    assert classify(compiled, failure_of(pod(ended("main", 137, "OOMKilled")))) == by_rule("gone")


def test_out_of_memory_is_a_container_reason_and_no_pod_reason() -> None:
    assert classify(rules(category("oom", OOM)), failure_of(pod(reason="OOMKilled"))) == Classification()


def test_evicted_is_a_pod_reason_and_no_container_reason() -> None:
    compiled = rules(category("evicted", {"onConditions": ["Evicted"]}))
    assert classify(compiled, failure_of(pod(ended("main", 1, "Evicted")))) == Classification()


def test_conditions_on_the_pod_ignore_the_container_name() -> None:
    compiled = rules(category("evicted", {"onConditions": ["Evicted"], "containerName": "nobody"}))
    assert classify(compiled, failure_of(pod(reason="Evicted"))) == by_rule("evicted")


def test_patterns_of_several_rules_keep_their_order_whatever_the_order_of_words() -> None:
    compiled = rules(category("first", says("zebra")), category("second", says("ant"), says("bee")))
    assert classify(compiled, failure_of(pod(ended("main", 1, message="ant bee zebra")))) == by_rule("first")
    assert classify(compiled, failure_of(pod(ended("main", 1, message="bee ant")))) == by_rule("second", 0)


def test_a_lower_rank_of_a_later_container_wins() -> None:
    compiled = rules(category("first", says("one")), category("second", says("two")))
    failed = pod(ended("a", 1, message="two"), ended("b", 1, message="one"))
    assert classify(compiled, failure_of(failed)) == by_rule("first")


def test_an_empty_pattern_matches_any_text_but_the_empty_one() -> None:
    compiled = rules(category("spoke", says("")))
    assert classify(compiled, failure_of(pod(ended("main", 1, message="x")))) == by_rule("spoke")
    assert classify(compiled, failure_of(pod(ended("main", 1)))) == Classification()


def test_events_with_and_without_a_reason_keep_their_order() -> None:
    compiled = rules(
        category("mount", event_says("disk", reason="FailedMount")), category("any", event_says("disk|net"))
    )
    events = [event("Warning", "BackOff", "net"), event("Warning", "FailedMount", "disk")]
    assert classify(compiled, failure_of(pod(), events)) == by_rule("mount")
    assert classify(compiled, failure_of(pod(), events[:1])) == by_rule("any")
    assert classify(compiled, failure_of(pod(), [event("Warning", "FailedMount", "net")])) == by_rule("any")


def test_an_event_type_without_any_rule_is_passed_over() -> None:
    compiled = rules(category("mount", event_says("disk", reason="FailedMount")))
    assert classify(compiled, failure_of(pod(), [event("Normal", "FailedMount", "disk")])) == Classification()


def test_an_event_without_a_message_matches_nothing() -> None:
    compiled = rules(category("any", event_says(".*")))
    assert classify(compiled, failure_of(pod(), [event("Warning", "Failed", "")])) == Classification()


def test_events_need_not_be_fetched_without_a_rule_on_them() -> None:
    assert not rules(category("any", says("x"))).has_event_rules
    assert rules(category("any", event_says("x"))).has_event_rules
    assert rules(category("any", event_says("x", reason="y"))).has_event_rules


def test_later_rules_are_not_searched_once_an_earlier_one_has_matched() -> None:
    compiled = rules(category("code", exit_in(1)), category("text", says("x"), pod_says("x"), event_says("x")))
    evidence = failure_of(pod(ended("main", 1, message="x")), [event("Warning", "x", "x")], "x")
    assert classify(compiled, evidence) == by_rule("code")


def test_a_text_is_searched_in_its_first_16_kib() -> None:
    compiled = rules(category("found", pod_says("needle")))
    near, far = "é" * 8189 + "needle", "é" * 8190 + "needle"
    assert classify(compiled, failure_of(pod(), message=near)) == by_rule("found")
    assert classify(compiled, failure_of(pod(), message=far)) == Classification()


@pytest.mark.parametrize("message", ["\x00", "\ud800", "a\udfffb\x00", "\x1b[31m", "x" * 4096, "\U0010ffff" * 5000])
def test_no_text_is_too_odd(message: str) -> None:
    compiled = rules(category("none", says("^never$"), pod_says("^never$"), event_says("^never$")))
    evidence = failure_of(pod(ended("main", -5, message=message)), [event("Warning", "x", message)], message)
    assert classify(compiled, evidence) == Classification()

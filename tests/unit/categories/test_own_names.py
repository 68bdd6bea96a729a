"""Failures that Refloat names itself, and where operators' rules come before."""

import json
from pathlib import Path

import msgspec
import pytest

from refloat_common.core.categories import (
    NO_FACTS,
    Classification,
    Facts,
    classify,
    decide_category,
    deleted_before_end,
    failure_of,
    own_name,
)
from refloat_common.core.pods import Pod
from refloat_common.core.taxonomy import Disposition, Internal
from testkit.category_makers import OOM, by_rule, category, exit_in, exit_not_in, pod_says, rules
from testkit.pod_makers import disruption, ended, pod

DEFAULT = Classification("other")
NODE_FAILURE = Classification("internal", "node-failure", "", Disposition.DELETE)
EXTERNALLY_DELETED = Classification("internal", "externally-deleted", "", Disposition.DELETE)
DELETED = Facts(deleted_by_other=True)
NO_RULES = rules(defaultCategory="other")
BEFORE, AT, AFTER = "2026-01-15T10:00:59Z", "2026-01-15T10:01:00Z", "2026-01-15T10:01:01Z"
REAL_NODE = Path(__file__).parents[2] / "data" / "real_node.jsonl"


def named(shown: Pod, facts: Facts = NO_FACTS) -> Classification:
    return decide_category(NO_RULES, failure_of(shown), facts)


@pytest.mark.parametrize("reason", ["Terminated", "NodeShutdown", "Shutdown", "NodeLost", "NodeAffinity"])
def test_the_kubelets_reason_tells_that_the_node_failed(reason: str) -> None:
    assert named(pod(ended("main", 137), reason=reason)) == NODE_FAILURE


@pytest.mark.parametrize("reason", ["Evicted", "DeadlineExceeded", "OutOfcpu", "Preempting", "UnknownToday"])
def test_other_reasons_are_no_node_failure_even_with_a_later_taint(reason: str) -> None:
    shown = pod(reason=reason, conditions=[disruption("DeletionByTaintManager", AFTER)], deleted_at=AFTER)
    assert named(shown) == DEFAULT


@pytest.mark.parametrize(
    "reason",
    ["EvictionByEvictionAPI", "PreemptionByScheduler", "DeletionByTaintManager", "DeletionByPodGC", "MadeUpByAVendor"],
)
@pytest.mark.parametrize("since", [BEFORE, AT])
def test_disruption_before_the_containers_ended(reason: str, since: str) -> None:
    shown = pod(ended("main", 143, finished_at=AT), conditions=[disruption(reason, since)], deleted_at=AFTER)
    assert named(shown) == NODE_FAILURE


def test_disruption_after_a_container_failed_by_itself() -> None:
    shown = pod(
        ended("main", 1, finished_at=AT),
        ended("other", 143, finished_at="2026-01-15T10:05:00Z"),
        conditions=[disruption("DeletionByTaintManager", AFTER)],
        deleted_at=AFTER,
    )
    assert named(shown) == DEFAULT


def test_disruption_that_was_taken_back() -> None:
    shown = pod(ended("main", 1, finished_at=AT), conditions=[disruption("EvictionByEvictionAPI", BEFORE, "False")])
    assert named(shown) == DEFAULT


def test_disruption_announced_but_no_deletion_followed() -> None:
    shown = pod(ended("main", 1, finished_at=AT), conditions=[disruption("EvictionByEvictionAPI", BEFORE)])
    assert named(shown) == DEFAULT


def test_disruption_by_the_kubelet_needs_no_deletion() -> None:
    shown = pod(ended("main", 143, finished_at=AT), conditions=[disruption("TerminationByKubelet", BEFORE)])
    assert named(shown) == NODE_FAILURE


def test_disruption_of_containers_that_never_ended() -> None:
    assert named(pod(conditions=[disruption("DeletionByPodGC", AT)], deleted_at=AT)) == NODE_FAILURE


def test_rules_come_before_node_failure() -> None:
    compiled = rules(category("late", pod_says("because Error")), defaultCategory="other")
    shown = pod(ended("main", 143, finished_at=AT), conditions=[disruption("DeletionByPodGC", AT)])
    assert decide_category(compiled, failure_of(shown)) == by_rule("late")


@pytest.mark.parametrize("exit_code", [0, 1, 137, 143])
def test_deleted_by_somebody_else_whatever_the_exit_code(exit_code: int) -> None:
    compiled = rules(category("code", exit_in(1, 137, 143), exit_not_in(7)), defaultCategory="other")
    evidence = failure_of(pod(ended("main", exit_code), phase="Succeeded" if exit_code == 0 else "Failed"))
    assert decide_category(compiled, evidence, DELETED) == EXTERNALLY_DELETED


def test_deleted_but_out_of_memory_by_the_pods_own_account() -> None:
    compiled = rules(category("code", exit_in(137)), category("oom", OOM))
    assert decide_category(compiled, failure_of(pod(ended("main", 137, "OOMKilled"))), DELETED) == by_rule("oom")


def test_deleted_but_evicted_by_the_kubelets_account() -> None:
    compiled = rules(category("code", exit_in(137)), category("pressure", pod_says("low on resource")))
    shown = pod(ended("main", 137), reason="Evicted", message="The node was low on resource: memory.")
    assert decide_category(compiled, failure_of(shown), DELETED) == by_rule("pressure")


def test_the_text_counts_only_with_a_reason_of_the_kubelet() -> None:
    compiled = rules(category("killed", pod_says("exit code 137")))
    assert decide_category(compiled, failure_of(pod(ended("main", 137))), DELETED) == EXTERNALLY_DELETED


def test_deleted_because_the_node_shuts_down() -> None:
    assert named(pod(ended("main", 137), reason="Terminated"), DELETED) == NODE_FAILURE


def test_deleted_by_a_drain_is_no_foreign_deletion() -> None:
    shown = pod(ended("main", 137), conditions=[disruption("EvictionByEvictionAPI", BEFORE)], deleted_at=AT)
    assert named(shown, DELETED) == NODE_FAILURE
    compiled = rules(category("code", exit_in(137)))
    assert decide_category(compiled, failure_of(shown), DELETED) == by_rule("code")


def test_without_a_classifier_refloats_own_names_are_still_given() -> None:
    compiled = rules(category("any", exit_not_in(0)), enabled=False, defaultCategory="other")
    assert decide_category(compiled, failure_of(pod(ended("main", 1)))) == Classification()
    assert decide_category(compiled, failure_of(pod(ended("main", 1))), DELETED) == EXTERNALLY_DELETED


def test_an_operators_internal_category_decides_what_becomes_of_the_pod() -> None:
    compiled = rules(category("internal", exit_in(99), action="Retain"))
    assert own_name(compiled, Internal.NODE_FAILURE) == Classification("internal", "node-failure")


@pytest.mark.parametrize(
    ("deleted_at", "grace_s", "before"),
    [
        ("2026-01-15T10:01:30Z", 30, True),
        ("2026-01-15T10:01:31Z", 30, False),
        ("2026-01-15T10:01:00+00:00", None, True),
        ("2026-01-15T12:01:00+02:00", 0, True),
        (None, None, False),
        ("nonsense", 30, False),
        ("0001-01-01T00:00:00Z", 2**62, False),
        ("9999-12-31T23:59:59Z", -(2**62), False),
    ],
)
def test_deletion_asked_for_before_the_end(deleted_at: str | None, grace_s: int | None, before: bool) -> None:  # noqa: FBT001  # an expected value
    shown = pod(ended("main", 1, finished_at=AT), deleted_at=deleted_at, grace_s=grace_s)
    assert deleted_before_end(shown, failure_of(shown).deaths) is before


def _failed_lines() -> list[tuple[str, str, Pod]]:
    """Each pod of the real node as it was when it had first failed, with its true cause."""
    found = []
    for line in REAL_NODE.read_text().split("\n")[:-1]:
        case = json.loads(line)
        pods = [msgspec.convert(step["object"], Pod) for step in case["watch"]]
        failures = [shown for shown in pods if shown.status.phase == "Failed"]
        found += [(case["id"], case["label"]["cause"], shown) for shown in (failures[:1] + failures[-1:])]
    return found


@pytest.mark.parametrize(("case", "cause", "shown"), _failed_lines())
def test_pods_of_a_real_node(case: str, cause: str, shown: Pod) -> None:
    is_node_failure = decide_category(NO_RULES, failure_of(shown)) == NODE_FAILURE
    assert is_node_failure is (cause == "disruption" or case == "real-node-affinity-admission")
    if cause != "disruption":
        assert not deleted_before_end(shown, failure_of(shown).deaths)
    assert classify(NO_RULES, failure_of(shown)) == DEFAULT

"""What a failure's report says."""

import pytest

from refloat_common.core.categories import ErrorCategories, compile_categories
from refloat_common.core.messages import ContainerError
from refloat_common.core.pods import Pod
from refloat_common.core.settings import parse_settings
from refloat_executor.core.judging import judge_by
from refloat_executor.core.ledger.values.records import Judgement
from testkit.pod_makers import ended, event, pod, running

RULES: dict[str, object] = {
    "enabled": True,
    "defaultCategory": "other",
    "defaultSubcategory": "unknown",
    "categories": [
        {"name": "oom", "action": "Delete", "rules": [{"onConditions": ["OOMKilled"], "hint": "ask for more"}]},
        {"name": "image", "rules": [{"onPodEvents": {"regexp": "pull", "type": "Warning"}, "subcategory": "pull"}]},
        {"name": "app", "action": "Delete", "rules": [{"onExitCodes": {"operator": "In", "values": [1]}}]},
    ],
}
JUDGE = judge_by(compile_categories(parse_settings(ErrorCategories, RULES)), lambda node: f"label-of-{node}")
DISABLED = judge_by(compile_categories(ErrorCategories()), str)


def judged(failed: Pod | None, *, foreign: bool = False) -> Judgement:
    return JUDGE(failed, (), foreign_delete=foreign, detected_at_ms=5)


def error(code: int, reason: str = "Error", cause: str = "Error") -> ContainerError:
    return ContainerError(name="main", exit_code=code, reason=reason, cause=cause)


def test_the_whole_judgement_with_its_hint() -> None:
    assert judged(pod(ended("main", 137, "OOMKilled"))) == Judgement(
        category="oom",
        disposition="Delete",
        cause="OOM",
        message="Container main failed with exit code 137 because OOMKilled: \n\n\nask for more",
        containers=[error(137, "OOMKilled", "OOM")],
        node_label="label-of-",
        detected_at_ms=5,
        grace_s=30,
    )


def test_the_default_is_retained() -> None:
    found = judged(pod(ended("main", 7)))
    assert (found.category, found.subcategory, found.disposition) == ("other", "unknown", "Retain")


def test_events_are_looked_at() -> None:
    failed = pod(ended("main", 7))
    found = JUDGE(failed, (event("Warning", "Failed", "can't pull"),), foreign_delete=False, detected_at_ms=5)
    assert (found.category, found.subcategory) == ("image", "pull")


@pytest.mark.parametrize("code", [0, 1, 137, 143])
def test_a_pod_that_somebody_deleted_is_named_so_whatever_its_code(code: int) -> None:
    found = judged(pod(ended("main", code)), foreign=True)
    assert (found.category, found.subcategory, found.disposition) == ("internal", "externally-deleted", "Delete")
    assert found.message.startswith("Pod was unexpectedly deleted")


def test_rules_on_the_pods_own_account_come_before_the_deletion() -> None:
    assert judged(pod(ended("main", 137, "OOMKilled")), foreign=True).category == "oom"


def test_a_pod_that_vanished_while_it_ran() -> None:
    found = judged(pod(running("main"), phase="Running"), foreign=True)
    assert (found.subcategory, found.message) == ("externally-deleted", "Pod was unexpectedly deleted")


def test_a_pod_of_which_nothing_is_known() -> None:
    assert judged(None, foreign=True) == Judgement(
        category="internal",
        subcategory="externally-deleted",
        disposition="Delete",
        message="Pod was unexpectedly deleted",
        detected_at_ms=5,
    )


def test_without_rules_a_failure_has_no_name_and_its_pod_is_retained() -> None:
    found = DISABLED(pod(ended("main", 1)), (), foreign_delete=False, detected_at_ms=5)
    assert (found.category, found.disposition) == ("", "Retain")


def test_a_long_message_is_cut_and_the_hint_stays_whole() -> None:
    found = judged(pod(ended("main", 137, "OOMKilled", message="é" * 4000)))
    assert len(found.message.encode()) <= 4096
    assert found.message.endswith("\n\nask for more")
    assert len(found.containers[0].message.encode()) <= 4096

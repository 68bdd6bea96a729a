"""A script decides from the pod, its node and its number how the pod ends."""

import json
from typing import Any

import pytest

from refloat_fakekube.core.play.script import ANNOTATION, BadScriptError, End, Facts, OnTerm, Outcome, choose


def facts(script: Any, *, memory: str = "64Mi", node: str = "n1", attempt: int = 1, fraction: float = 0.5) -> Facts:
    annotation = script if isinstance(script, str) else json.dumps(script)
    container: Any = {"name": "main", "resources": {"limits": {"memory": memory}}}
    pod: Any = {"metadata": {"annotations": {ANNOTATION: annotation}}, "spec": {"containers": [container]}}
    return Facts(pod, node, {"pool": "a"}, attempt, fraction)


def test_without_a_script_a_pod_succeeds() -> None:
    pod: Any = {"metadata": {"name": "a"}}
    assert choose(Facts(pod, "n1", {}, 1, 0.0)) == Outcome()


def test_every_part_of_an_outcome_is_read() -> None:
    script = {
        "outcome": "exit",
        "code": 3,
        "reason": "Odd",
        "message": "no",
        "afterMs": 1500,
        "container": "main",
        "containers": {"b": {"code": 6, "afterMs": 10}},
        "onTerm": {"code": 9, "afterMs": 20, "ignore": True, "stuckMs": 30},
        "finalizer": "x.io/y",
        "holdMs": 40,
        "event": {"reason": "R", "message": "M"},
        "disruption": "D",
    }
    assert choose(facts(script)) == Outcome(
        kind="exit",
        container="main",
        after_s=1.5,
        code=3,
        reason="Odd",
        message="no",
        ends={"b": End(0.01, 6)},
        on_term=OnTerm(9, 0.02, ignore=True, stuck_s=0.03),
        disruption="D",
        finalizer="x.io/y",
        hold_s=0.04,
        event=("R", "M"),
    )


@pytest.mark.parametrize(
    ("when", "matching", "other"),
    [
        ({"memoryBelow": "100Mi"}, {"memory": "99Mi"}, {"memory": "100Mi"}),
        ({"nodes": ["n1", "n2"]}, {"node": "n2"}, {"node": "n3"}),
        ({"attempts": [1, 3]}, {"attempt": 3}, {"attempt": 2}),
        ({"chance": 0.25}, {"fraction": 0.2}, {"fraction": 0.25}),
        ({"nodes": ["n1"], "attempts": [1]}, {}, {"attempt": 2}),
    ],
)
def test_the_first_case_that_holds_decides(when: Any, matching: Any, other: Any) -> None:
    script = {"cases": [{"when": when, "outcome": "oom"}, {"outcome": "run"}]}
    assert choose(facts(script, **matching)).kind == "oom"
    assert choose(facts(script, **other)).kind == "run"


def test_labels_of_the_node_count() -> None:
    def script(pool: str) -> Any:
        return {"cases": [{"when": {"nodeLabels": {"pool": pool}}, "outcome": "oom"}, {"outcome": "run"}]}

    assert [choose(facts(script(pool))).kind for pool in ("a", "b")] == ["oom", "run"]


def test_where_no_case_holds_the_pod_succeeds() -> None:
    assert choose(facts({"cases": [{"when": {"nodes": ["other"]}, "outcome": "oom"}]})) == Outcome()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("no-such-name", "script: 'no-such-name'"),
        ({"outcome": "explode"}, "cases[0].outcome: 'explode'"),
        ({"cases": [{"outcome": "run"}, {"outcome": "run", "colour": 1}]}, "cases[1]: 'colour'"),
        ({"outcome": "run", "when": {"moon": "full"}}, "cases[0]: 'moon'"),
        ({"outcome": "run", "afterMs": -1}, "afterMs: -1"),
        ({"outcome": "exit", "code": "x"}, "code: 'x'"),
        ({"outcome": "oom", "when": {"memoryBelow": "much"}}, "memoryBelow: 'much'"),
    ],
)
def test_a_script_that_can_not_be_read_names_place_and_value(script: Any, words: str) -> None:
    with pytest.raises(BadScriptError) as refused:
        choose(facts(script))
    assert str(refused.value) == f"{ANNOTATION}: {words} is not possible"

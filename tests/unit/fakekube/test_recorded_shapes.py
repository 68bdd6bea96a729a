"""The fake kubelet writes what a real one wrote: every recorded pod that ended by itself is played and compared."""

import json
from pathlib import Path
from typing import Any

import pytest

from refloat_fakekube.core.objects import clone
from refloat_fakekube.core.play.machine import Latencies
from refloat_fakekube.core.play.script import ANNOTATION, Facts, choose
from refloat_fakekube.core.resources import PODS
from refloat_fakekube.core.store.requests import Delete, Target
from testkit.fakekube_world import World

RECORDED: dict[str, Any] = {
    row["id"].removeprefix("real-"): row
    for row in map(json.loads, Path("tests/data/real_node.jsonl").read_text().splitlines())
}
LATENCIES = Latencies(admit_s=0.05, start_s=0.5, sync_s=1.0, finish_s=1.2, restart_s=6.0, pull_s=12.0)
LONG = {"afterMs": 4000}
IGNORES = {"onTerm": {"ignore": True}}

SCRIPTS: dict[str, Any] = {
    "bad-command": {"outcome": "start-error"},
    "bad-workdir": {"outcome": "start-error", "message": ...},
    "cni-pod-exit-1": {"outcome": "exit", "code": 1},
    "deadline": {"outcome": "deadline", **IGNORES},
    "ephemeral-container-limit": {"outcome": "evicted", **LONG, **IGNORES},
    "exit-1": {"outcome": "exit", "code": 1},
    "exit-137-self": {"outcome": "exit", "code": 1, "afterMs": 1500},
    "exit-143-term": {"outcome": "succeed", **LONG},
    "exit-255": {"outcome": "exit", "code": 255, "afterMs": 1500},
    "image-name-invalid": {"outcome": "image-name-invalid"},
    "image-pull-fails": {"outcome": "image-pull-fails"},
    "init-fails": {"outcome": "exit", "container": "prep", "code": 9, "message": ..., "afterMs": 1500},
    "init-oom": {"outcome": "oom", "container": "prep", "afterMs": 1500},
    "long-message": {"outcome": "exit", "code": 4, "message": "x" * 5000},
    "missing-configmap": {"outcome": "config-error"},
    "missing-secret-key": {"outcome": "config-error", "message": 'secret "absent" not found'},
    "node-affinity-admission": {
        "outcome": "reject",
        "reason": "NodeAffinity",
        "message": "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    },
    "not-executable": {"outcome": "start-error", "message": ...},
    "on-failure-restarts": {"outcome": "exit", "code": 12, "afterMs": 1500},
    "oom-child": {"outcome": "oom", "code": 7, "afterMs": 1500},
    "oom-main": {"outcome": "oom"},
    "oom-second-container": {"outcome": "oom", "container": "helper", "containers": {"main": LONG}},
    "out-of-cpu-admission": {"outcome": "reject"},
    "poststart-hook-fails": {"outcome": "hook-fails", "afterMs": 3000},
    "run-as-non-root": {"outcome": "config-error", "message": ...},
    "sidecar-137-main-1": {"outcome": "exit", "code": 1, "afterMs": 2500, **IGNORES},
    "sidecar-killed-at-end": {"outcome": "succeed", "afterMs": 2500, **IGNORES},
    "sigabrt": {"outcome": "exit", "code": 1},
    "signal-segv-child": {"outcome": "exit", "code": 139},
    "succeeded": {"outcome": "succeed"},
    "two-containers-both-fail": {"outcome": "exit", "code": 2, "containers": {"b": {"code": 6, "afterMs": 1500}}},
    "two-containers-one-fails": {"outcome": "exit", "container": "b", "code": 6, "containers": {"main": LONG}},
    "user-says-evicted": {"outcome": "exit", "code": 1, "message": ...},
    "user-says-oom": {"outcome": "exit", "code": 1, "message": ...},
}
"""By recorded pod; `...` stands for the message that the recording itself carries."""

DELETED: dict[str, Any] = {
    "deleted-exits-0-on-term": {"outcome": "run", "onTerm": {"code": 0}},
    "emptydir-limit": {"outcome": "disrupted", **LONG, **IGNORES},
    "taint-noexecute": {"outcome": "disrupted", **LONG, **IGNORES},
}
NOT_PLAYED = {
    "finalizer-held": "deletion of an ended pod: tests of the store",
    "sidecar-fails-main-ok": "the recorded kubelet lost the sidecar's last state at the end",
    "slow-finish": "the node was lost in between: tests of the controllers",
    "unschedulable-cpu": "never on a node: tests of the scheduler",
    "unschedulable-selector": "never on a node: tests of the scheduler",
}

_HIDDEN = {
    "managedFields", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "podIP", "podIPs", "nodeName",
    "annotations",
}  # fmt: skip
_TIMES = {"lastTransitionTime", "startedAt", "finishedAt", "startTime"}
_IDS = {"containerID", "imageID"}


def comparable(value: Any, uid: str) -> Any:
    """Without times, versions, ids, uids and addresses."""
    if isinstance(value, dict):
        return {
            key: (bool(inner) if key in _TIMES | _IDS else comparable(inner, uid))
            for key, inner in value.items()
            if key not in _HIDDEN
        }
    if isinstance(value, list):
        return [comparable(inner, uid) for inner in value]
    return value.replace(uid, "UID") if isinstance(value, str) else value


def lines_of(watch: Any) -> list[Any]:
    return [[line["type"], comparable(line["object"], line["object"]["metadata"]["uid"])] for line in watch]


def ended(line: Any) -> bool:
    return line["object"]["status"]["phase"] in {"Failed", "Succeeded"}


def until_end(watch: list[Any]) -> list[Any]:
    """The recording up to the kubelet's last word: taints, and an address that is taken back, come later."""
    kept: list[Any] = []
    for line in watch:
        status = line["object"]["status"]
        disrupted = any(one["type"] == "DisruptionTarget" for one in status.get("conditions", []))
        if disrupted or (kept and ended(kept[-1]) and same_containers(kept[-1], line)):
            break
        kept.append(line)
    return kept


def same_containers(before: Any, after: Any) -> bool:
    return bool(
        before["object"]["status"].get("containerStatuses") == after["object"]["status"].get("containerStatuses")
    )


def message_in(watch: list[Any]) -> str:
    for line in watch:
        status = line["object"]["status"]
        for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
            for state in container["state"].values():
                if "message" in state:
                    return str(state["message"])
    raise AssertionError("the recording has no message")


def started(case: str, script: Any) -> tuple[World, Target, Any]:
    row = RECORDED[case]
    script = {key: message_in(row["watch"]) if value is ... else value for key, value in script.items()}
    world = World()
    first: Any = clone(row["watch"][0]["object"])
    pod: Any = {
        "metadata": {
            "name": first["metadata"]["name"],
            "namespace": first["metadata"]["namespace"],
            "annotations": {ANNOTATION: json.dumps(script)},
        },
        "spec": first["spec"],
    }
    if "finalizers" in first["metadata"]:
        pod["metadata"]["finalizers"] = first["metadata"]["finalizers"]
    target = world.create_pod(pod)
    created: Any = world.pods[-1]["object"]
    script = json.loads(json.dumps(script).replace(first["metadata"]["uid"], created["metadata"]["uid"]))
    created["metadata"]["annotations"][ANNOTATION] = json.dumps(script)
    if not pod["spec"].get("nodeName"):
        world.bind(target, "n1")
    outcome = choose(Facts(created, "n1", {}, 1, 0.0))
    return world, target, outcome


def event_facts(watch: Any) -> list[Any]:
    """Every event once, in the order of its first appearance, with what does not differ from run to run."""
    found: dict[str, Any] = {}
    for line in watch:
        event = line["object"]
        fact = comparable(event, event["involvedObject"].get("uid", "-"))
        for key in ("metadata", "firstTimestamp", "lastTimestamp", "eventTime", "count", "reportingInstance", "series"):
            fact.pop(key, None)
        fact["source"].pop("host", None)
        found.setdefault(json.dumps(fact, sort_keys=True).replace("to real1", "to n1"), fact)
    return [json.loads(one) for one in found]


IGNORED_EVENTS = {"TaintManagerEviction", "MissingClusterDNS", "FailedScheduling"}


@pytest.mark.parametrize("case", sorted(SCRIPTS))
def test_the_kubelet_writes_what_a_real_one_wrote(case: str) -> None:
    world, target, outcome = started(case, SCRIPTS[case])
    recorded = until_end(RECORDED[case]["watch"])
    if case == "init-oom":
        del recorded[1]  # the scheduler first found no room
    world.play(target, outcome, LATENCIES, until=lambda w: len(w.pods) >= len(recorded) + 3, limit_s=900)
    ours = world.pods[: len(recorded)] if case == "image-pull-fails" else world.pods
    assert lines_of(ours) == lines_of(recorded)


@pytest.mark.parametrize("case", sorted(set(SCRIPTS)))
def test_the_kubelet_records_the_events_that_a_real_one_recorded(case: str) -> None:
    world, target, outcome = started(case, SCRIPTS[case])
    world.play(target, outcome, LATENCIES, until=lambda _: False, limit_s=70)
    recorded = [one for one in RECORDED[case]["events"] if one["object"]["reason"] not in IGNORED_EVENTS]
    assert event_facts(world.events) == event_facts(recorded)


@pytest.mark.parametrize("case", sorted(DELETED))
def test_a_deleted_pod_goes_through_the_lines_of_a_real_one(case: str) -> None:
    world, target, outcome = started(case, DELETED[case])
    play = world.play(target, outcome, LATENCIES, until=lambda w: w.pods[-1]["type"] == "DELETED", limit_s=9)
    if case == "deleted-exits-0-on-term":
        world.do(Delete(target))
        world.show(play, target)
        world.go_on(play, target, until=lambda w: w.pods[-1]["type"] == "DELETED", limit_s=9)
    assert ignoring_order(world.pods) == ignoring_order(RECORDED[case]["watch"])


def ignoring_order(watch: Any) -> list[Any]:
    """The lines with conditions sorted: when a kubelet moves DisruptionTarget to the front is a matter of chance."""
    kept: list[Any] = []
    for kind, obj in lines_of(watch):
        obj["status"].get("conditions", []).sort(key=lambda one: one["type"])
        if not kept or kept[-1] != [kind, obj]:
            kept.append([kind, obj])
    return kept


def test_every_recorded_pod_is_accounted_for() -> None:
    assert set(SCRIPTS) | set(DELETED) | set(NOT_PLAYED) == set(RECORDED)


def test_pods_are_the_recorded_kind() -> None:
    assert {row["watch"][0]["object"]["kind"] for row in RECORDED.values()} == {PODS.kind}

"""Where a pod fits and where not, and the scheduler's words for it."""

from typing import Any

import pytest

from refloat_common.core.quantity import parse
from refloat_fakekube.core.control.lifecycle import found_node_taints, lost_node_taints, patience_s
from refloat_fakekube.core.control.scheduling import matches, obstacle, place, requests_of, room_of


def node(name: str = "n", **more: Any) -> Any:
    allocatable = {"cpu": "2", "memory": "4Gi", "pods": "3"}
    return {
        "metadata": {"name": name, "labels": more.pop("labels", {})},
        "spec": more,
        "status": {"allocatable": allocatable},
    }


def pod(cpu: str = "1", **spec: Any) -> Any:
    return {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}], **spec}}


def why(asking: Any, on: Any, used: str = "0", pods: int = 0) -> str:
    room = room_of(on)
    room.used["cpu"] = parse(used).nanos
    room.pods = pods
    return obstacle(asking, requests_of(asking), room)


TAINTED = "node(s) had untolerated taint(s)"
NO_SCHEDULE = {"key": "k", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("asking", "on", "used", "words"),
    [
        (pod(), node(), "0", ""),
        (pod("2"), node(), "0", ""),
        (pod("2001m"), node(), "0", "Insufficient cpu"),
        (pod("1"), node(), "1500m", "Insufficient cpu"),
        (pod("0"), node(), "2", ""),
        (pod(nodeSelector={"a": "b"}), node(), "0", "node(s) didn't match Pod's node affinity/selector"),
        (pod(nodeSelector={"a": "b"}), node(labels={"a": "b"}), "0", ""),
        (pod(), node(unschedulable=True), "0", "node(s) were unschedulable"),
        (pod(), node(taints=[NO_SCHEDULE]), "0", TAINTED),
        (pod(), node(taints=[{"key": "k", "effect": "PreferNoSchedule"}]), "0", ""),
        (pod(tolerations=[{"key": "k", "value": "v"}]), node(taints=[NO_SCHEDULE]), "0", ""),
        (
            pod(tolerations=[{"key": "k", "value": "w"}]),
            node(taints=[NO_SCHEDULE]),
            "0",
            "node(s) had untolerated taint(s)",
        ),
        (pod(tolerations=[{"operator": "Exists"}]), node(taints=[NO_SCHEDULE]), "0", ""),
        (pod(tolerations=[{"operator": "Exists"}]), node(unschedulable=True), "0", ""),
    ],
)
def test_a_pod_fits_or_it_is_said_why_not(asking: Any, on: Any, used: str, words: str) -> None:
    assert why(asking, on, used) == words


def test_a_node_takes_no_more_pods_than_it_says() -> None:
    assert [why(pod("0"), node(), pods=count) for count in (2, 3)] == ["", "Too many pods"]


def affinity(*expressions: Any, fields: Any = ()) -> Any:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    required = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        (affinity({"key": "zone", "operator": "In", "values": ["a", "b"]}), True),
        (affinity({"key": "zone", "operator": "NotIn", "values": ["a"]}), False),
        (affinity({"key": "other", "operator": "NotIn", "values": ["a"]}), True),
        (affinity({"key": "zone", "operator": "Exists"}), True),
        (affinity({"key": "zone", "operator": "DoesNotExist"}), False),
        (affinity({"key": "size", "operator": "Gt", "values": ["4"]}), True),
        (affinity({"key": "size", "operator": "Gt", "values": ["5"]}), False),
        (affinity({"key": "size", "operator": "Lt", "values": ["6"]}), True),
        (affinity(fields=[{"key": "metadata.name", "operator": "In", "values": ["n"]}]), True),
        (affinity(), False),
        ({}, True),
    ],
)
def test_required_node_affinity(spec: Any, fits: bool) -> None:  # noqa: FBT001
    assert matches(spec, node(labels={"zone": "a", "size": "5"})) is fits


def test_a_pod_asks_for_the_larger_of_its_phases() -> None:
    def container(name: str, cpu: str, **more: Any) -> Any:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    asking: Any = {
        "spec": {
            "initContainers": [container("side", "1", restartPolicy="Always"), container("prep", "3")],
            "containers": [container("a", "1"), container("b", "500m")],
        }
    }
    assert requests_of(asking) == {"cpu": parse("4").nanos}


def test_the_emptiest_node_is_taken_and_ties_go_by_name() -> None:
    rooms = [room_of(node(name)) for name in ("c", "b", "a")]
    assert place(pod(), rooms) == ("a", "")
    rooms[2].take(requests_of(pod()))
    assert place(pod(), rooms) == ("b", "")


def test_every_obstacle_is_counted() -> None:
    rooms = [room_of(node("a")), room_of(node("b", unschedulable=True)), room_of(node("c"))]
    rooms[2].take({"cpu": parse("2").nanos})
    rooms[0].take({"cpu": parse("2").nanos})
    words = "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. no new claims to deallocate, "
    words += "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
    words += "2 No preemption victims found for incoming pod."
    assert place(pod(), rooms) == ("", words)


def test_without_nodes_there_is_nothing_to_count() -> None:
    assert place(pod(), []) == ("", "no nodes available to schedule pods")


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0.0),
        ([{"key": "k", "operator": "Exists"}], None),
        ([{"key": "k", "operator": "Exists", "tolerationSeconds": 30}], 30.0),
        ([{"key": "k", "operator": "Exists", "effect": "NoSchedule"}], 0.0),
    ],
)
def test_how_long_a_pod_bears_a_taint(tolerations: Any, seconds: float | None) -> None:
    on = node(taints=[{"key": "k", "effect": "NoExecute"}])
    assert patience_s(pod(tolerations=tolerations), on) == seconds


def test_a_lost_node_is_tainted_and_a_found_one_no_more() -> None:
    own: Any = {"key": "own", "effect": "NoSchedule"}
    lost = lost_node_taints([own], 0.0)
    assert [(one["key"], one["effect"]) for one in lost] == [
        ("own", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
    ]
    assert found_node_taints(lost) == [own]

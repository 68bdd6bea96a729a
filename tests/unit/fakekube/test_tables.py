"""What the columns of `kubectl get` say."""

from typing import Any

import pytest

from refloat_fakekube.core.protocol.tables.ages import age, human
from refloat_fakekube.core.protocol.tables.kinds import event_row, node_row
from refloat_fakekube.core.protocol.tables.pods import pod_row


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (119, "119s"),
        (120, "2m"),
        (130, "2m10s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (4 * 3600 + 60, "4h1m"),
        (8 * 3600, "8h"),
        (48 * 3600 - 1, "47h"),
        (2 * 86400, "2d"),
        (2 * 86400 + 3600, "2d1h"),
        (8 * 86400, "8d"),
        (2 * 365 * 86400, "2y"),
        (2 * 365 * 86400 + 86400, "2y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages_have_two_units_at_most(seconds: int, words: str) -> None:
    assert human(seconds) == words


def test_an_age_needs_a_time() -> None:
    assert age("", 0.0) == "<unknown>"
    assert age("1970-01-01T00:00:00Z", 61.0) == "61s"


def container(state: Any, name: str = "main", **more: Any) -> Any:
    return {"name": name, "state": state, "ready": "running" in state, "restartCount": 0, **more}


def pod(phase: str, statuses: Any = (), inits: Any = (), **more: Any) -> Any:
    return {
        "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z", **more.pop("metadata", {})},
        "spec": {"containers": [{"name": "main"}], "initContainers": more.pop("init", []), "nodeName": "n"},
        "status": {"phase": phase, "containerStatuses": [*statuses], "initContainerStatuses": [*inits], **more},
    }


RUNNING: Any = {"running": {"startedAt": "1970-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (pod("Pending"), "Pending"),
        (pod("Running", [container(RUNNING)]), "Running"),
        (pod("Failed", reason="Evicted"), "Evicted"),
        (pod("Pending", [container({"waiting": {"reason": "ImagePullBackOff"}})]), "ImagePullBackOff"),
        (pod("Failed", [container({"terminated": {"exitCode": 1, "reason": "Error"}})]), "Error"),
        (pod("Failed", [container({"terminated": {"exitCode": 7}})]), "ExitCode:7"),
        (pod("Failed", [container({"terminated": {"exitCode": 137, "signal": 9}})]), "Signal:9"),
        (pod("Running", [container(RUNNING)], metadata={"deletionTimestamp": "1970-01-01T00:00:00Z"}), "Terminating"),
        (pod("Failed", reason="NodeLost", metadata={"deletionTimestamp": "1970-01-01T00:00:00Z"}), "Unknown"),
        (
            pod("Pending", inits=[container({"running": {}}, "prep")], init=[{"name": "prep"}, {"name": "more"}]),
            "Init:0/2",
        ),
        (
            pod("Failed", inits=[container({"terminated": {"exitCode": 9, "reason": "Error"}}, "prep")]),
            "Init:Error",
        ),
        (
            pod("Pending", inits=[container({"waiting": {"reason": "CrashLoopBackOff"}}, "prep")]),
            "Init:CrashLoopBackOff",
        ),
        (
            pod("Pending", conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]),
            "SchedulingGated",
        ),
    ],
)
def test_the_status_of_a_pod(shown: Any, words: str) -> None:
    assert pod_row(shown, 0.0)[2] == words


def test_a_pod_with_restarts() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": "1970-01-01T00:00:10Z"}}
    shown = pod("Running", [container(RUNNING, restartCount=2, lastState=last)], podIP="10.0.0.1")
    assert pod_row(shown, 70.0) == ["a", "1/1", "Running", "2 (60s ago)", "70s", "10.0.0.1", "n", "<none>", "<none>"]


def test_a_cordoned_node_with_roles() -> None:
    shown: Any = {
        "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready", "status": "False"}], "nodeInfo": {"kubeletVersion": "v1"}},
    }
    assert node_row(shown, 0.0)[:5] == ["n", "NotReady,SchedulingDisabled", "worker", "<unknown>", "v1"]


def test_an_event_of_the_newer_kind() -> None:
    shown: Any = {
        "metadata": {"name": "a.1"},
        "involvedObject": {"kind": "Pod", "name": "a"},
        "eventTime": "1970-01-01T00:00:00.000000Z",
        "series": {"count": 3, "lastObservedTime": "1970-01-01T00:00:30.000000Z"},
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "no room ",
        "reportingComponent": "default-scheduler",
    }
    assert event_row(shown, 60.0) == [
        "30s",
        "Warning",
        "FailedScheduling",
        "pod/a",
        "",
        "default-scheduler",
        "no room",
        "60s",
        3,
        "a.1",
    ]

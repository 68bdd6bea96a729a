"""The fake API server and a real one answer the same requests alike, word for word: chosen ones and random ones."""

from collections.abc import Iterable
from itertools import count
from random import Random
from typing import Any

import pytest

from testkit.kube_api import APPLY, JSON_PATCH, MERGE, STRATEGIC, KubeApi, real_kube_api
from testkit.kube_steps import Step, comparable, comparable_watch, random_steps
from testkit.real_kube import RealApi

pytestmark = pytest.mark.kube
_serial = count(1)
OTHER_UID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def both(fake_api: KubeApi, real_api: RealApi) -> tuple[KubeApi, KubeApi, str]:
    """Both servers, and a namespace that is fresh on each."""
    namespace = f"same-{next(_serial)}"
    servers = (fake_api, real_kube_api(real_api))
    for api in servers:
        api.post("/api/v1/namespaces", {"metadata": {"name": namespace}}).ok()
    return (*servers, namespace)


def differences(both: tuple[KubeApi, KubeApi, str], steps: Iterable[Step]) -> list[Any]:
    fake, real, namespace = both
    found = []
    for step in steps:
        ours, theirs = (comparable(step.send(api, namespace)) for api in (fake, real))
        if ours != theirs:
            found.append({"step": step, "fake": ours, "real": theirs})
    return found


def pod(name: str, metadata: Any = None, container: Any = None, **spec: Any) -> Any:
    containers = [{"name": "main", "image": "none:1", **(container or {})}]
    named = {"name": name} if name else {}
    return {"metadata": {**named, **(metadata or {})}, "spec": {"containers": containers, **spec}}


def create(*arguments: Any, **more: Any) -> Step:
    return Step("POST", "pods", pod(*arguments, **more))


CREATION = [
    create("a"),
    create("a"),
    create("Bad_Name"),
    create("x" * 254),
    create(""),
    create("b", {"namespace": "other"}),
    create("b", {"resourceVersion": "5"}),
    create("b", {"uid": "abc"}),
    create("l", {"labels": {"ok": "bad value!"}}),
    create("l", {"annotations": {"a b": "c"}}),
    create("l", {"finalizers": ["nope"]}),
    create("r", container={"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}}),
    create("r", container={"resources": {"requests": {"memory": "abc"}}}),
    create("r", container={"resources": {"requests": {"memory": "-1"}}}),
    create("r", container={"resources": {"requests": {"memory": "1024Mi", "cpu": "0.5"}, "limits": {"cpu": "1000m"}}}),
    create("i", container={"image": ""}),
    create("i", container={"imagePullPolicy": "Sometimes"}),
    create("i", container={"env": [{"name": "", "value": "x"}]}),
    create("i", container={"volumeMounts": [{"name": "x", "mountPath": "/x"}]}),
    create("s", restartPolicy="Sometimes"),
    create("s", activeDeadlineSeconds=0),
    create("s", nodeName="Bad_Node"),
    create("t", terminationGracePeriodSeconds=-5),
    create("p", container={"ports": [{"containerPort": 80}], "livenessProbe": {"exec": {"command": ["true"]}}}),
    Step("POST", "pods", {"metadata": {"name": "x"}}),
    Step("POST", "pods", {"metadata": {"name": "x"}, "spec": {"containers": [{"image": "none:1"}]}}),
    Step("POST", "pods", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "k"}, "spec": {}}),
    Step("POST", "pods", b"{not json"),
    Step("POST", "pods", b"[1]"),
    Step("POST", "pods", pod("t"), "text/plain"),
    Step("POST", "pods", pod("dry"), query={"dryRun": "All"}),
    Step("POST", "pods", pod("dry"), query={"dryRun": "Some"}),
    Step("POST", "/api/v1/namespaces/no-such/pods", pod("a")),
    Step("GET", "pods"),
]

CHANGE = [
    create("a", restartPolicy="Never"),
    Step("PUT", "pods/no-such", pod("no-such")),
    Step("PUT", "pods/a", pod("b")),
    Step("PUT", "pods/a", pod("a", {"uid": OTHER_UID}, restartPolicy="Never")),
    Step("PUT", "pods/a", pod("a", {"resourceVersion": "1"}, restartPolicy="Never")),
    Step("PUT", "pods/a", pod("a", {"resourceVersion": "abc"}, restartPolicy="Never")),
    Step("PUT", "pods/a", pod("a", restartPolicy="Never")),
    Step("PATCH", "pods/no-such", {}, STRATEGIC),
    Step("PATCH", "pods/a", {"spec": {"containers": [{"name": "main", "image": "none:2"}]}}, STRATEGIC),
    Step("PATCH", "pods/a", {"spec": {"containers": [{"name": "more", "image": "none:2"}]}}, STRATEGIC),
    Step("PATCH", "pods/a", {"spec": {"nodeName": "n1"}}, STRATEGIC),
    Step("PATCH", "pods/a", {"spec": {"activeDeadlineSeconds": 100}}, MERGE),
    Step("PATCH", "pods/a", {"spec": {"activeDeadlineSeconds": 200}}, MERGE),
    Step("PATCH", "pods/a", {"spec": {"activeDeadlineSeconds": None}}, MERGE),
    Step("PATCH", "pods/a", {"metadata": {"name": "z"}}, MERGE),
    Step("PATCH", "pods/a", {"metadata": {"uid": "z"}}, MERGE),
    Step("PATCH", "pods/a", {"metadata": {"resourceVersion": "1"}}, MERGE),
    Step("PATCH", "pods/a/status", {"status": {"phase": "Running", "podIP": "10.0.0.1"}}, MERGE),
    Step("PATCH", "pods/a", [{"op": "test", "path": "/metadata/name", "value": "q"}], JSON_PATCH),
    Step("PATCH", "pods/a", [{"op": "remove", "path": "/metadata/labels/nope"}], JSON_PATCH),
    Step("PATCH", "pods/a", {"x": 1}, JSON_PATCH),
    Step("PATCH", "pods/a", b"no json", MERGE),
    Step("PATCH", "pods/a", {}, "application/json"),
    Step("PATCH", "nodes", {}, MERGE),
    Step("POST", "pods/a/binding", {"metadata": {"name": "b"}, "target": {"name": "n2"}}),
    Step("POST", "pods/a/binding", {"metadata": {"name": "a"}, "target": {}}),
    Step("POST", "pods/no-such/binding", {"metadata": {"name": "no-such"}, "target": {"name": "n"}}),
    Step("POST", "pods/a", pod("a")),
    Step("POST", "pods/a/status", pod("a")),
    Step("PUT", "pods", pod("a")),
    Step("GET", "pods/a/no-such"),
]

LISTS = [
    *[create(f"p{place}", {"labels": {"i": str(place), "odd": str(place % 2)}}) for place in range(4)],
    *[
        Step("GET", "pods", query={"labelSelector": selector})
        for selector in (
            "odd=1",
            "odd in (0,1),i!=2",
            "!odd",
            "odd notin (1)",
            "i>2",
            "a b",
            "a in b",
            "a=",
            "a,",
            "=x",
        )
    ],
    *[
        Step("GET", "pods", query={"fieldSelector": selector})
        for selector in ("spec.nodeName=", "metadata.name=p1", "spec.foo=1", "junk", "status.phase!=Pending")
    ],
    Step("GET", "pods", query={"limit": 2}),
    Step("GET", "pods", query={"limit": 2, "labelSelector": "odd"}),
    Step("GET", "pods", query={"continue": "abc"}),
    Step("GET", "pods", query={"limit": "x"}),
    Step("GET", "pods", query={"resourceVersion": "99999999"}),
    Step("GET", "pods", query={"resourceVersion": "abc"}),
    Step("GET", "pods", query={"resourceVersionMatch": "Exact"}),
    Step("GET", "pods", query={"resourceVersion": "0", "resourceVersionMatch": "Exact"}),
    Step("GET", "pods", query={"resourceVersion": "1", "resourceVersionMatch": "Foo"}),
    Step("GET", "pods", query={"sendInitialEvents": "true"}),
    Step("GET", "/api/v1/no-such"),
    Step("GET", "/api/v2"),
    Step("GET", "/apis/no-such/v1/x"),
]

LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "same"}}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ABOUT = {"kind": "Pod", "name": "p1", "namespace": "default", "uid": "u1"}
EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
NEW_EVENT = {
    "metadata": {"name": "same.3"},
    "regarding": ABOUT,
    "reason": "R",
    "type": "Normal",
    "note": "n",
    "action": "A",
    "reportingController": "example.com/c",
    "reportingInstance": "i",
    "eventTime": "2026-01-01T00:00:00.000000Z",
}
READY = {"type": "Ready", "status": "True"}
OTHERS = [
    Step("POST", LEASES, {**LEASE, "spec": {"holderIdentity": "h", "renewTime": "2026-01-01T00:00:00.000000Z"}}),
    Step("PUT", f"{LEASES}/same", {**LEASE, "spec": {"holderIdentity": "h2"}}),
    Step("POST", LEASES, {"metadata": {"name": "bad"}, "spec": {"leaseDurationSeconds": 0}}),
    Step("DELETE", f"{LEASES}/same"),
    Step("POST", EVENTS, {"metadata": {"name": "same.1"}, "involvedObject": ABOUT, "reason": "R", "type": "Normal"}),
    Step("GET", EVENTS, query={"fieldSelector": "involvedObject.uid=u1,reason=R"}),
    Step("GET", "/apis/events.k8s.io/v1/namespaces/default/events/same.1"),
    Step("POST", EVENTS, {"metadata": {"name": "same.2"}, "involvedObject": {**ABOUT, "namespace": "other"}}),
    Step("DELETE", f"{EVENTS}/same.1"),
    Step("POST", NEW_EVENTS, NEW_EVENT),
    Step("GET", f"{EVENTS}/same.3"),
    Step("DELETE", f"{EVENTS}/same.3"),
    Step("POST", "/api/v1/nodes", {"metadata": {"name": "same"}, "status": {"allocatable": {"cpu": "4000m"}}}),
    Step("PUT", "/api/v1/nodes/same", {"metadata": {"name": "same"}, "spec": {"unschedulable": True}}),
    Step(
        "PATCH", "/api/v1/nodes/same/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, MERGE
    ),
    Step("DELETE", "/api/v1/nodes/same"),
]

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
APPLIED = [
    Step("PATCH", "configmaps/c", {**CONFIG, "data": {"a": "1", "b": "2"}}, APPLY, {"fieldManager": "one"}),
    Step("PATCH", "configmaps/c", {**CONFIG, "data": {"a": "1"}}, APPLY),
    Step("PATCH", "configmaps/c", {**CONFIG, "data": {"a": "9"}}, APPLY, {"fieldManager": "two"}),
    Step("PATCH", "configmaps/c", {**CONFIG, "data": {"a": "9"}}, APPLY, {"fieldManager": "two", "force": "true"}),
    Step("PATCH", "configmaps/c", {**CONFIG, "data": {"c": "3"}}, APPLY, {"fieldManager": "one"}),
    Step("GET", "configmaps/c"),
]


@pytest.mark.parametrize(
    "steps", [CREATION, CHANGE, LISTS, OTHERS, APPLIED], ids=["creation", "change", "lists", "others", "apply"]
)
def test_chosen_requests_are_answered_alike(both: tuple[KubeApi, KubeApi, str], steps: list[Step]) -> None:
    assert differences(both, steps) == []


@pytest.mark.parametrize("seed", range(6))
def test_random_requests_are_answered_and_watched_alike(both: tuple[KubeApi, KubeApi, str], seed: int) -> None:
    fake, real, namespace = both
    path = f"/api/v1/namespaces/{namespace}/pods"
    starts = [api.get(path).ok()["metadata"]["resourceVersion"] for api in (fake, real)]
    assert differences(both, random_steps(Random(seed), 200)) == []
    ours, theirs = (comparable_watch(api, path, start) for api, start in zip((fake, real), starts, strict=True))
    assert len(ours) > 30
    assert ours == theirs

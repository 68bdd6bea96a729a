"""The fake kubelets, scheduler and controllers serve a real API server as they serve the fake one."""

import asyncio
import json
import random
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from refloat_fakekube.kubelet.client import Access
from refloat_fakekube.kubelet.fleet import Fleet
from refloat_fakekube.kubelet.run import running_kubelets
from refloat_fakekube.kubelet.settings import KubeletSettings, NodeSpec
from testkit.kube_api import Json, KubeApi, real_kube_api
from testkit.real_kube import RealApi

pytestmark = pytest.mark.kube
SCRIPT = "fakekube.refloat.dev/script"
NODES = [NodeSpec("fake-1", {"pool": "a"}), NodeSpec("fake-2", {"pool": "b"})]
_serial = count(1)


@pytest.fixture
def api(real_api: RealApi) -> KubeApi:
    return real_kube_api(real_api)


@pytest.fixture
def pods(api: KubeApi) -> str:
    name = f"kubelets-{next(_serial)}"
    api.post("/api/v1/namespaces", {"metadata": {"name": name}}).ok()
    return f"/api/v1/namespaces/{name}/pods"


def pod(name: str, script: Any, **spec: Any) -> Json:
    container = {"name": "main", "image": "none:1", "resources": {"limits": {"memory": "64Mi"}}}
    metadata = {"name": name, "annotations": {SCRIPT: json.dumps(script)}}
    return {"metadata": metadata, "spec": {"containers": [container], "restartPolicy": "Never", **spec}}


def with_kubelets(real: RealApi, test: Callable[[Fleet], Any]) -> None:
    """Run a blocking test in a thread while kubelets play."""

    async def whole() -> None:
        access = Access(real.url, real.admin.token, str(real.ca_file))
        settings = KubeletSettings(lease_interval_s=0.5)
        async with running_kubelets(access, NODES, random.Random(1), settings) as fleet:
            await asyncio.to_thread(test, fleet)

    asyncio.run(whole())


def until(look: Callable[[], Any], limit: int = 2000) -> Any:
    """Ask again, a bounded number of times, until the answer is true."""
    for _ in range(limit):
        answer = look()
        if answer:
            return answer
    raise AssertionError("it did not come about")


def ended(api: KubeApi, path: str) -> Json:
    def look() -> Json | None:
        found = api.get(path).ok()
        return found if found["status"]["phase"] in {"Failed", "Succeeded"} else None

    return until(look)  # type: ignore[no-any-return]  # the answer of look


def test_pods_end_as_their_scripts_say(real_api: RealApi, api: KubeApi, pods: str) -> None:
    scripts = {
        "fine": {"outcome": "succeed"},
        "wrong": {"outcome": "exit", "code": 3, "message": "no"},
        "hungry": {"outcome": "oom", "afterMs": 50},
        "refused": {"outcome": "reject"},
        "pushed": {"outcome": "evicted"},
        "late": {"outcome": "deadline", "afterMs": 50},
        "taken": {"outcome": "disrupted"},
    }

    def test(_: Fleet) -> None:
        for name, script in scripts.items():
            held = {"finalizers": ["example.com/hold"]} if name == "taken" else {}
            body = pod(name, script)
            body["metadata"].update(held)
            api.post(pods, body).ok()
        found = {name: ended(api, f"{pods}/{name}") for name in scripts}
        told = {name: (one["status"]["phase"], one["status"].get("reason")) for name, one in found.items()}
        assert told == {
            "fine": ("Succeeded", None),
            "wrong": ("Failed", None),
            "hungry": ("Failed", None),
            "refused": ("Failed", "OutOfcpu"),
            "pushed": ("Failed", "Evicted"),
            "late": ("Failed", "DeadlineExceeded"),
            "taken": ("Failed", None),
        }
        ends = {
            name: found[name]["status"]["containerStatuses"][0]["state"]["terminated"] for name in ("wrong", "hungry")
        }
        assert (ends["wrong"]["exitCode"], ends["wrong"]["message"]) == (3, "no")
        assert (ends["hungry"]["exitCode"], ends["hungry"]["reason"]) == (137, "OOMKilled")
        target = [one for one in found["taken"]["status"]["conditions"] if one["type"] == "DisruptionTarget"]
        assert target[0]["reason"] == "DeletionByTaintManager"
        events = api.get(pods.replace("/pods", "/events"), fieldSelector="involvedObject.name=wrong").ok()["items"]
        assert {event["reason"] for event in events} >= {"Scheduled", "Pulled", "Created", "Started"}

    with_kubelets(real_api, test)


def test_a_running_pod_is_deleted_with_grace_and_its_kubelet_lets_it_go(
    real_api: RealApi, api: KubeApi, pods: str
) -> None:
    def test(_: Fleet) -> None:
        api.post(pods, pod("a", {"outcome": "run"}, nodeSelector={"pool": "b"})).ok()
        running = until(lambda: (one := api.get(f"{pods}/a").ok())["status"]["phase"] == "Running" and one)
        assert running["spec"]["nodeName"] == "fake-2"
        api.delete(f"{pods}/a").ok()
        until(lambda: api.get(f"{pods}/a").code == 404)

    with_kubelets(real_api, test)


def test_a_pod_that_fits_nowhere_is_told_so(real_api: RealApi, api: KubeApi, pods: str) -> None:
    def test(_: Fleet) -> None:
        api.post(pods, pod("a", {"outcome": "succeed"}, nodeSelector={"pool": "none"})).ok()
        conditions = until(lambda: api.get(f"{pods}/a").ok()["status"].get("conditions"))
        assert (conditions[0]["type"], conditions[0]["reason"]) == ("PodScheduled", "Unschedulable")
        assert "didn't match Pod's node affinity/selector" in conditions[0]["message"]

    with_kubelets(real_api, test)


def test_a_namespace_that_is_deleted_empties_itself(real_api: RealApi, api: KubeApi, pods: str) -> None:
    namespace = pods.removesuffix("/pods")

    def test(_: Fleet) -> None:
        api.post(pods, pod("a", {"outcome": "run"})).ok()
        until(lambda: api.get(f"{pods}/a").ok()["status"]["phase"] == "Running")
        api.delete(namespace).ok()
        until(lambda: api.get(namespace).code == 404)

    with_kubelets(real_api, test)

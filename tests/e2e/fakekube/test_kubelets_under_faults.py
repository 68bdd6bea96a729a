"""Kubelets get their pods to the end however the API server behaves."""

from typing import Any

import pytest

from refloat_fakekube.cluster import FakeCluster, NodeSpec
from refloat_fakekube.core.protocol.faults import Fault
from testkit.fake_cluster import run, until

SCRIPT = "fakekube.refloat.dev/script"
NODES = [NodeSpec("n1"), NodeSpec("n2")]
COUNT = 12


def pod(name: str, script: str = "exit-1") -> Any:
    container = {"name": "main", "image": "none:1"}
    metadata = {"name": name, "annotations": {SCRIPT: script}}
    return {"metadata": metadata, "spec": {"containers": [container], "restartPolicy": "Never"}}


async def all_failed(core: Any) -> bool:
    listed = await core.list_namespaced_pod("default")
    return len(listed.items) == COUNT and all(item.status.phase == "Failed" for item in listed.items)


async def create(core: Any) -> None:
    for place in range(COUNT):
        await core.create_namespaced_pod("default", pod(f"p{place}"))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(verb="patch", resource="pods/status", code=500, count=10),
        Fault(verb="patch", resource="pods/status", code=500, count=10, effect=True),
        Fault(verb="patch", resource="pods/status", code=429, count=10, retry_after_s=1),
        Fault(verb="patch", resource="pods/status", kind="drop", count=10),
        Fault(verb="create", resource="pods/binding", code=409, count=10),
        Fault(verb="create", resource="pods/binding", code=500, count=10, effect=True),
        Fault(verb="create", resource="events", code=500, count=50),
    ],
    ids=["refused", "refused-with-effect", "busy", "dropped", "not-bound", "bound-after-all", "no-events"],
)
def test_refused_writes_are_repeated(fault: Fault) -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        cluster.admin.fail(fault)
        await create(core)
        await until(lambda: all_failed(core))

    run(FakeCluster(NODES), test)


@pytest.mark.parametrize("how", ["eof", "reset", "expired", "half"])
def test_cut_watches_are_opened_again_and_nothing_is_missed(how: str) -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        for place in range(COUNT):
            await core.create_namespaced_pod("default", pod(f"p{place}"))
            if place % 3 == 0:
                cluster.admin.cut_watches(how)
        await until(lambda: all_failed(core))

    run(FakeCluster(NODES), test)


def test_a_forgotten_past_is_healed_by_listing_again() -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        cluster.admin.fail(Fault(verb="watch", code=500, count=4))
        cluster.admin.cut_watches()
        await create(core)
        cluster.admin.compact()
        await until(lambda: all_failed(core))

    run(FakeCluster(NODES), test)


def test_a_pod_that_was_removed_in_a_gap_is_forgotten() -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        one_node = {"cpu": "1", "memory": "1Gi", "pods": "1"}
        await cluster.fleet.add_node(NodeSpec("tight", {"tight": "yes"}, one_node))
        first, second = pod("first", "run"), pod("second", "succeed")
        for body in (first, second):
            body["spec"]["nodeSelector"] = {"tight": "yes"}
        await core.create_namespaced_pod("default", first)

        async def phase(name: str) -> str:
            return str((await core.read_namespaced_pod(name, "default")).status.phase)

        async def running() -> bool:
            return await phase("first") == "Running"

        await until(running)
        cluster.admin.hold()
        await core.delete_namespaced_pod("first", "default", grace_period_seconds=0)
        cluster.admin.compact()
        cluster.admin.cut_watches("expired")
        cluster.admin.release()
        await core.create_namespaced_pod("default", second)

        async def done() -> bool:
            return await phase("second") == "Succeeded"

        await until(done)

    run(FakeCluster(NODES), test)

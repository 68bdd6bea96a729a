"""What controllers do to pods: NoExecute taints, lost nodes, removed nodes, namespaces that are deleted."""

from typing import Any

from refloat_fakekube.cluster import FakeCluster, KubeletSettings, NodeSpec
from testkit.fake_cluster import run, until

SCRIPT = "fakekube.refloat.dev/script"
NODES = [NodeSpec("n1"), NodeSpec("n2", unschedulable=True)]
ATTENTIVE = KubeletSettings(lease_interval_s=0.05, node_grace_s=0.3)


def pod(name: str, **spec: Any) -> Any:
    metadata = {"name": name, "annotations": {SCRIPT: "run"}}
    return {
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": "none:1"}], "restartPolicy": "Never", **spec},
    }


async def running(core: Any, name: str) -> Any:
    async def look() -> Any:
        found = await core.read_namespaced_pod(name, "default")
        return found if found.status.phase == "Running" else None

    return await until(look)


async def condition(core: Any, name: str, kind: str) -> Any:
    async def look() -> Any:
        found = await core.read_namespaced_pod(name, "default")
        return next((one for one in found.status.conditions or [] if one.type == kind), None)

    return await until(look)


def test_a_noexecute_taint_drives_pods_away_that_do_not_tolerate_it() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        tolerations = [{"key": "sick", "operator": "Exists", "effect": "NoExecute"}]
        await core.create_namespaced_pod("default", pod("weak"))
        await core.create_namespaced_pod("default", pod("strong", tolerations=tolerations))
        for name in ("weak", "strong"):
            await running(core, name)
        held = {"metadata": {"finalizers": ["example.com/hold"]}}
        await core.patch_namespaced_pod("weak", "default", held)
        await core.patch_node("n1", {"spec": {"taints": [{"key": "sick", "effect": "NoExecute"}]}})
        target = await condition(core, "weak", "DisruptionTarget")
        assert (target.status, target.reason) == ("True", "DeletionByTaintManager")

        async def deleted() -> bool:
            return (await core.read_namespaced_pod("weak", "default")).metadata.deletion_timestamp is not None

        await until(deleted)
        assert (await core.read_namespaced_pod("strong", "default")).metadata.deletion_timestamp is None

    run(FakeCluster(NODES), test)


def test_a_silent_node_is_lost_and_found_again() -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a"))
        await running(core, "a")
        cluster.fleet.kill_node("n1")

        async def lost() -> bool:
            node = await core.read_node("n1")
            ready = next(one for one in node.status.conditions if one.type == "Ready")
            return bool(ready.status == "Unknown" and node.spec.taints)

        async def unready() -> bool:
            found = await core.read_namespaced_pod("a", "default")
            return any(one.type == "Ready" and one.status == "False" for one in found.status.conditions)

        await until(lost)
        await until(unready)
        cluster.fleet.revive_node("n1")

        async def found() -> bool:
            return not (await core.read_node("n1")).spec.taints

        await until(found)
        assert (await core.read_namespaced_pod("a", "default")).metadata.deletion_timestamp is None

    run(FakeCluster(NODES, kubelets=ATTENTIVE), test)


def test_the_pods_of_a_removed_node_are_collected() -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a"))
        await running(core, "a")
        held = {"metadata": {"finalizers": ["example.com/hold"]}}
        await core.patch_namespaced_pod("a", "default", held)
        cluster.fleet.kill_node("n1")
        await core.delete_node("n1")
        target = await condition(core, "a", "DisruptionTarget")
        found = await core.read_namespaced_pod("a", "default")
        assert (found.status.phase, target.reason) == ("Failed", "DeletionByPodGC")

    run(FakeCluster(NODES), test)


def test_a_deleted_namespace_takes_its_pods_with_it() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespace({"metadata": {"name": "extra"}})
        await core.create_namespaced_pod("extra", pod("a"))
        await core.delete_namespace("extra")

        async def gone() -> bool:
            return "extra" not in [item.metadata.name for item in (await core.list_namespace()).items]

        await until(gone)
        assert (await core.list_namespaced_pod("extra")).items == []

    run(FakeCluster(NODES), test)

"""Kubelets, scheduler and server together over HTTP: a pod's script decides how it ends."""

import json
from typing import Any

import pytest

from refloat_fakekube.cluster import FakeCluster, NodeSpec
from testkit.fake_cluster import run, until

SCRIPT = "fakekube.refloat.dev/script"
NODES = [NodeSpec("n1", {"pool": "a"}), NodeSpec("n2", {"pool": "b"})]


def pod(name: str, script: Any = "succeed", memory: str = "64Mi", **spec: Any) -> Any:
    annotation = script if isinstance(script, str) else json.dumps(script)
    container = {"name": "main", "image": "none:1", "resources": {"limits": {"memory": memory}}}
    metadata = {"name": name, "annotations": {SCRIPT: annotation}}
    return {"metadata": metadata, "spec": {"containers": [container], "restartPolicy": "Never", **spec}}


async def ended(core: Any, name: str) -> Any:
    async def look() -> Any:
        found = await core.read_namespaced_pod(name, "default")
        return found if found.status.phase in {"Failed", "Succeeded"} else None

    return await until(look)


async def gone(core: Any, name: str) -> bool:
    async def look() -> bool:
        listed = await core.list_namespaced_pod("default", field_selector=f"metadata.name={name}")
        return not listed.items

    return bool(await until(look))


@pytest.mark.parametrize(
    ("script", "phase", "reason", "ending"),
    [
        ("succeed", "Succeeded", None, (0, "Completed")),
        ({"outcome": "exit", "code": 3, "message": "no"}, "Failed", None, (3, "Error")),
        ("oom", "Failed", None, (137, "OOMKilled")),
        ("evicted", "Failed", "Evicted", (143, "Error")),
        ({"outcome": "deadline", "afterMs": 30}, "Failed", "DeadlineExceeded", (143, "Error")),
        ("start-error", "Failed", None, (128, "StartError")),
    ],
)
def test_a_pod_ends_as_its_script_says(script: Any, phase: str, reason: str | None, ending: tuple[int, str]) -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a", script))
        found = await ended(core, "a")
        terminated = found.status.container_statuses[0].state.terminated
        assert (found.status.phase, found.status.reason) == (phase, reason)
        assert (terminated.exit_code, terminated.reason) == ending

    run(FakeCluster(NODES), test)


def test_a_pod_refused_at_admission_never_has_containers() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a", "out-of-cpu"))
        found = await ended(core, "a")
        assert (found.status.reason, found.status.container_statuses) == ("OutOfcpu", None)

    run(FakeCluster(NODES), test)


def test_more_memory_helps_where_the_script_says_so() -> None:
    script = {"cases": [{"when": {"memoryBelow": "100Mi"}, "outcome": "oom"}, {"outcome": "succeed"}]}

    async def test(_: FakeCluster, core: Any) -> None:
        for name, memory in (("small", "64Mi"), ("large", "128Mi")):
            await core.create_namespaced_pod("default", pod(name, script, memory))
        assert [(await ended(core, name)).status.phase for name in ("small", "large")] == ["Failed", "Succeeded"]

    run(FakeCluster(NODES), test)


def test_a_bad_node_fails_what_another_node_runs() -> None:
    script = {"cases": [{"when": {"nodes": ["n1"]}, "outcome": "exit", "code": 21}, {"outcome": "succeed"}]}

    async def test(_: FakeCluster, core: Any) -> None:
        for name, pool in (("bad", "a"), ("good", "b")):
            await core.create_namespaced_pod("default", pod(name, script, nodeSelector={"pool": pool}))
        assert [(await ended(core, name)).status.phase for name in ("bad", "good")] == ["Failed", "Succeeded"]

    run(FakeCluster(NODES), test)


def test_the_second_pod_of_a_name_may_end_otherwise() -> None:
    script = {"cases": [{"when": {"attempts": [1]}, "outcome": "exit"}, {"outcome": "succeed"}]}

    async def test(_: FakeCluster, core: Any) -> None:
        phases = []
        for _attempt in range(2):
            await core.create_namespaced_pod("default", pod("a", script))
            phases.append((await ended(core, "a")).status.phase)
            await core.delete_namespaced_pod("a", "default")
        assert phases == ["Failed", "Succeeded"]

    run(FakeCluster(NODES), test)


def test_a_script_that_can_not_be_read_fails_the_pod_and_says_why() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a", {"outcome": "explode"}))
        found = await ended(core, "a")
        assert found.status.reason == "BadScript"
        assert "cases[0].outcome: 'explode' is not possible" in found.status.message

    run(FakeCluster(NODES), test)


def test_a_deleted_pod_stops_and_goes() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a", "run"))

        async def running() -> bool:
            return bool((await core.read_namespaced_pod("a", "default")).status.phase == "Running")

        await until(running)
        answer = await core.delete_namespaced_pod("a", "default")
        assert answer.metadata.deletion_grace_period_seconds == 30
        assert await gone(core, "a")

    run(FakeCluster(NODES), test)


def test_a_stuck_pod_only_goes_by_force() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a", "stuck", terminationGracePeriodSeconds=0))

        async def running() -> bool:
            return bool((await core.read_namespaced_pod("a", "default")).status.phase == "Running")

        await until(running)
        await core.delete_namespaced_pod("a", "default", grace_period_seconds=1)
        assert (await core.read_namespaced_pod("a", "default")).metadata.deletion_timestamp is not None
        await core.delete_namespaced_pod("a", "default", grace_period_seconds=0)
        assert await gone(core, "a")

    run(FakeCluster(NODES), test)


def test_a_finalizer_holds_an_ended_pod_for_a_while() -> None:
    script = {"outcome": "exit", "finalizer": "example.com/hold", "holdMs": 300}

    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a", script))
        await ended(core, "a")
        held = await core.delete_namespaced_pod("a", "default")
        assert held.metadata.finalizers == ["example.com/hold"]
        assert (await core.read_namespaced_pod("a", "default")).metadata.deletion_timestamp is not None
        assert await gone(core, "a")

    run(FakeCluster(NODES), test)


def test_a_dead_node_says_nothing_until_it_is_revived() -> None:
    async def test(cluster: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a", "node-dies", nodeSelector={"pool": "a"}))

        async def dead() -> bool:
            return "n1" in cluster.fleet.dead

        await until(dead)
        await core.delete_namespaced_pod("a", "default", grace_period_seconds=1)
        await core.create_namespaced_pod("default", pod("b", nodeSelector={"pool": "a"}))
        await core.create_namespaced_pod("default", pod("c", nodeSelector={"pool": "b"}))
        await ended(core, "c")
        assert (await core.read_namespaced_pod("b", "default")).status.phase == "Pending"
        assert (await core.read_namespaced_pod("a", "default")).metadata.deletion_timestamp is not None
        cluster.fleet.revive_node("n1")
        assert (await ended(core, "b")).status.phase == "Succeeded"
        assert await gone(core, "a")

    run(FakeCluster(NODES), test)


def test_a_pod_that_fits_nowhere_waits_and_says_why() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("a", nodeSelector={"pool": "none"}))

        async def told() -> Any:
            found = await core.read_namespaced_pod("a", "default")
            return found.status.conditions

        condition = (await until(told))[0]
        words = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. no new claims to "
        words += "deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
        assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
        assert condition.message == words
        events = (await core.list_namespaced_event("default", field_selector="reason=FailedScheduling")).items
        assert [event.message for event in events] == [words]

    run(FakeCluster(NODES), test)


def test_a_pod_waits_for_room_and_then_runs() -> None:
    nodes = [NodeSpec("n1", allocatable={"cpu": "1", "memory": "100Mi", "pods": "110"})]

    async def test(_: FakeCluster, core: Any) -> None:
        await core.create_namespaced_pod("default", pod("first", "run"))
        await core.create_namespaced_pod("default", pod("second"))

        async def told() -> Any:
            return (await core.read_namespaced_pod("second", "default")).status.conditions

        assert "1 Insufficient memory" in (await until(told))[0].message
        await core.delete_namespaced_pod("first", "default", grace_period_seconds=0)
        assert (await ended(core, "second")).status.phase == "Succeeded"

    run(FakeCluster(nodes), test)


def test_node_affinity_keeps_a_pod_away_from_named_values() -> None:
    async def test(_: FakeCluster, core: Any) -> None:
        expression = {"key": "pool", "operator": "NotIn", "values": ["a"]}
        term = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
        for place in range(4):
            await core.create_namespaced_pod("default", pod(f"p{place}", affinity=affinity))
        assert {(await ended(core, f"p{place}")).spec.node_name for place in range(4)} == {"n2"}

    run(FakeCluster(NODES), test)

"""A simulated cluster runs pods by the fake kubelets' own code, at any speed, and the same way for the same seed."""

import anyio
import msgspec
import pytest

from refloat_executor.core.cluster.answers import Conflict, Done, Missing, Unsent
from refloat_executor.core.cluster.wire import decode_pod
from refloat_fakekube.kubelet.settings import NodeSpec
from testkit.virtual.run import World, run_virtual
from testkit.world.clients import executor_client
from testkit.world.cluster import start_cluster

OOM = '{"outcome":"oom","afterMs":500}'
NODES = [NodeSpec("n1"), NodeSpec("n2")]


def _pod(name: str, script: str) -> bytes:
    container = {"name": "main", "image": "x", "resources": {"limits": {"memory": "64Mi"}}}
    metadata = {
        "name": name,
        "labels": {"armada_job_id": name},
        "annotations": {"fakekube.refloat.dev/script": script},
    }
    body = {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [container]}}
    return msgspec.json.encode(body)


def _story(seed: int) -> tuple[list[str], str]:
    phases: list[str] = []

    async def scenario(world: World) -> str:
        cluster = start_cluster(world, "E1", NODES)

        async def executor() -> None:
            kube = executor_client(cluster.server)
            created = await kube.create_pod("default", _pod("a", OOM))
            assert isinstance(created, Done)
            assert isinstance(await kube.create_pod("default", _pod("a", OOM)), Conflict)
            watch = await kube.watch_pods("default", decode_pod(created.body).metadata.resource_version, 300)
            assert not isinstance(watch, Unsent)
            while phases[-1:] != ["Failed"]:
                block = await watch.next_block()  # type: ignore[union-attr]  # it was opened
                assert isinstance(block, bytes)
                phases.extend(msgspec.json.decode(line)["object"]["status"]["phase"] for line in block.splitlines())
            pod = decode_pod(created.body)
            await kube.delete_pod("default", "a", pod.metadata.uid, "", None)
            await anyio.sleep(1)
            assert isinstance(await kube.read_pod("default", "a"), Missing)
            phases.append("gone")

        await anyio.sleep(1)
        process = world.loop.start_process("E1", executor)
        assert process.main is not None
        await process.main
        return world.trace.digest()

    digest = run_virtual(scenario, seed=seed, limit_s=3600)
    return phases, digest


def test_a_pod_is_scheduled_fails_by_its_script_and_goes() -> None:
    phases, _ = _story(1)
    assert phases[-2:] == ["Failed", "gone"]
    assert set(phases[:-2]) == {"Pending", "Running"}


def test_one_seed_gives_one_trace_and_another_seed_another() -> None:
    assert _story(1)[1] == _story(1)[1] != _story(2)[1]


def test_a_request_is_carried_out_although_its_sender_dies() -> None:
    async def scenario(world: World) -> list[str]:
        cluster = start_cluster(world, "E1", NODES)

        async def executor() -> None:
            await executor_client(cluster.server).create_pod("default", _pod("a", "succeed"))
            raise AssertionError

        await anyio.sleep(1)
        process = world.loop.start_process("E1", executor)
        await anyio.sleep(0.0005)
        world.loop.kill(process)
        await anyio.sleep(10)
        return [record.get("phase") for record in world.trace.named("truth.pod")]

    phases = run_virtual(scenario)
    assert (phases[0], phases[-1]) == ("Pending", "Succeeded")


def test_a_server_that_is_down_takes_no_request() -> None:
    async def scenario(world: World) -> None:
        cluster = start_cluster(world, "E1", NODES)
        cluster.server.down = True

        async def executor() -> None:
            kube = executor_client(cluster.server)
            assert isinstance(await kube.create_pod("default", _pod("a", "succeed")), Unsent)
            assert isinstance(await kube.watch_pods("", "1", 10), Unsent)

        process = world.loop.start_process("E1", executor)
        assert process.main is not None
        await process.main

    run_virtual(scenario)


@pytest.mark.parametrize("seed", range(3))
def test_kubelets_that_die_and_come_back_do_not_disturb_a_run(seed: int) -> None:
    async def scenario(world: World) -> None:
        first = start_cluster(world, "E1", NODES)
        await anyio.sleep(5)
        world.loop.kill(first.kubelets)
        await anyio.sleep(5)

    run_virtual(scenario, seed=seed)

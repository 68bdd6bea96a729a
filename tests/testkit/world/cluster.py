"""A simulated cluster: its API server, and a process that runs the fake cluster's kubelets and scheduler against it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from refloat_fakekube.kubelet.fleet import Fleet
from refloat_fakekube.kubelet.scheduler import Scheduler
from refloat_fakekube.kubelet.settings import KubeletSettings, NodeSpec
from testkit.virtual.process import SimProcess
from testkit.virtual.run import World
from testkit.world.apiserver import SimApiServer
from testkit.world.clients import kubelet_client

PARALLEL = 32


@dataclass(frozen=True, slots=True)
class SimCluster:
    """A cluster and the process of its kubelets."""

    server: SimApiServer
    kubelets: SimProcess


def start_cluster(world: World, name: str, nodes: Sequence[NodeSpec], *, events: bool = True) -> SimCluster:
    """Start a cluster; its nodes register within the first moments."""
    server = SimApiServer(world, name)
    settings = KubeletSettings(events=events, parallel=PARALLEL)

    async def run() -> None:
        client = kubelet_client(server)
        chances = world.streams.of(f"kube/{name}/scripts")
        fleet = Fleet(client, list(nodes), settings, chances, now_s=server.now_s)
        scheduler = Scheduler(client, events=events, parallel=PARALLEL, now_s=server.now_s)
        await fleet.start()
        async with asyncio.TaskGroup() as group:
            group.create_task(fleet.run())
            group.create_task(scheduler.run())

    return SimCluster(server, world.loop.start_process(f"kubelets/{name}", run))

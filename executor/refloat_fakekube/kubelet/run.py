"""Runs kubelets, their scheduler and controllers against any API server."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from refloat_fakekube.kubelet.client import Access, ApiClient
from refloat_fakekube.kubelet.evictions import Evictions
from refloat_fakekube.kubelet.fleet import Fleet
from refloat_fakekube.kubelet.lifecycle import Lifecycle
from refloat_fakekube.kubelet.scheduler import Scheduler
from refloat_fakekube.kubelet.settings import KubeletSettings, NodeSpec

DEFAULT_SETTINGS = KubeletSettings()


@asynccontextmanager
async def running_kubelets(
    access: Access,
    nodes: Sequence[NodeSpec],
    rng: random.Random,
    settings: KubeletSettings = DEFAULT_SETTINGS,
    *,
    schedule: bool = True,
    control: bool = True,
) -> AsyncIterator[Fleet]:
    """Kubelets for these nodes for the length of the block; with a scheduler and controllers where there are none."""
    async with ApiClient(access) as client:
        fleet = Fleet(client, list(nodes), settings, rng)
        await fleet.start()
        running = [asyncio.create_task(fleet.run())]
        if schedule:
            scheduler = Scheduler(client, events=settings.events, parallel=settings.parallel)
            running.append(asyncio.create_task(scheduler.run()))
        if control:
            running.append(asyncio.create_task(Evictions(client).run()))
            running.append(asyncio.create_task(Lifecycle(client, settings.node_grace_s).run()))
        try:
            await fleet.synced()
            yield fleet
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

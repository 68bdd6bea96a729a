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
        running = [fleet.run()]
        if schedule:
            running.append(Scheduler(client, events=settings.events, parallel=settings.parallel).run())
        if control:
            running.append(Evictions(client).run())
            running.append(Lifecycle(client, settings.node_grace_s).run())
        # A failure of one of them ends the block: a cluster that is half dead helps nobody.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in running]
            try:
                await fleet.synced()
                yield fleet
            finally:
                for task in tasks:
                    task.cancel()

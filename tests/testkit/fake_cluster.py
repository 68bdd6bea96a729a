"""Runs one asynchronous test against a fake cluster, with the official asyncio client at hand."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from kubernetes_asyncio import client

from refloat_fakekube.cluster import FakeCluster

Test = Callable[[FakeCluster, Any], Awaitable[None]]
DEADLINE_S = 15.0


def run(cluster: FakeCluster, test: Test) -> None:
    """Run `test(cluster, core_v1)` in an event loop of its own; the client is a `CoreV1Api`."""

    async def whole() -> None:
        async with cluster as running, asyncio.timeout(DEADLINE_S):
            configuration = client.Configuration(host=running.url)
            configuration.client_side_validation = True
            async with client.ApiClient(configuration) as api:
                await test(running, client.CoreV1Api(api))

    asyncio.run(whole())


async def until(what: Callable[[], Awaitable[Any]]) -> Any:
    """Ask again until the answer is true; the test's own deadline ends the waiting."""
    while True:
        answer = await what()
        if answer:
            return answer
        await asyncio.sleep(0.005)

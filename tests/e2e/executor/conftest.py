"""Fixtures for tests of the executor on a fake cluster: the backend, a cluster with one node, and one without."""

from collections.abc import AsyncIterator

import pytest

from refloat_fakekube.cluster import FakeCluster, NodeSpec


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def cluster() -> AsyncIterator[FakeCluster]:
    async with FakeCluster([NodeSpec("n1", {"kubernetes.io/hostname": "host-1"})]) as running:
        yield running


@pytest.fixture
async def bare_cluster() -> AsyncIterator[FakeCluster]:
    """Without nodes, so that no kubelet meets the faults that a test asks for."""
    async with FakeCluster() as running:
        yield running

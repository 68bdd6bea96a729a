"""The real cluster of one node that all tests of this folder share."""

from collections.abc import Iterator

import pytest

from testkit.real_kube import RealNode


@pytest.fixture(scope="session")
def real_node() -> Iterator[RealNode]:
    """One cluster per session with node `real1`; the user `refloat-executor` holds the rights of configs/kubernetes."""
    with RealNode() as cluster:
        yield cluster

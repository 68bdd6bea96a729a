"""The real API server that all tests of this folder share."""

from collections.abc import Iterator

import pytest

from testkit.real_kube import RealApi


@pytest.fixture(scope="session")
def real_api() -> Iterator[RealApi]:
    """One etcd and kube-apiserver per session; the user `refloat-executor` holds the rights of configs/kubernetes."""
    with RealApi() as api:
        api.grant_executor()
        yield api

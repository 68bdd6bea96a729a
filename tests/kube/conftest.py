"""The real API server that all tests of this folder share, and the choice between it and the fake one."""

import time
from collections.abc import Iterator
from itertools import count

import pytest

from testkit.kube_api import KubeApi, fake_kube_api, real_kube_api
from testkit.real_kube import RealApi

_serial = count(1)


@pytest.fixture(scope="session")
def real_api() -> Iterator[RealApi]:
    """One etcd and kube-apiserver per session; the user `refloat-executor` holds the rights of configs/kubernetes."""
    with RealApi() as api:
        api.grant_executor()
        yield api


@pytest.fixture(scope="session")
def fake_api() -> Iterator[KubeApi]:
    """One fake API server per session."""
    with fake_kube_api() as api:
        yield api


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.kube)])
def kube_api(request: pytest.FixtureRequest) -> KubeApi:
    """Each API server in turn, with all rights: what a test says of it must hold for both."""
    if request.param == "fake":
        fake: KubeApi = request.getfixturevalue("fake_api")
        return fake
    return real_kube_api(request.getfixturevalue("real_api"))


@pytest.fixture
def pods(kube_api: KubeApi) -> str:
    """The path of the pods of a namespace of the test's own."""
    name = f"semantics-{next(_serial)}-{int(time.time() * 1000) % 1_000_000}"
    kube_api.post("/api/v1/namespaces", {"metadata": {"name": name}}).ok()
    return f"/api/v1/namespaces/{name}/pods"

"""The product's own host and executor on the real API server, for the tests of one module."""

from collections.abc import Iterator

import pytest

from testkit.live.product import NAMESPACE, Json, Setup
from testkit.live.retry import GROWS_AND_MOVES
from testkit.live.scene import Scene, scene_on
from testkit.real_kube import RealApi

RETRIES_ALL: Json = {"name": "retries-all", "retryLimit": 3, "defaultAction": "Retry", "rules": []}
QUICK: Json = {"kubernetes": {"podKillTimeout": "1s", "stuckTerminatingPodExpiry": "4s"}}
"""Patience that a test can sit out."""


@pytest.fixture(scope="module")
def running(real_api: RealApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Everything runs. The policy of queue `q` grows and moves, that of queue `all` retries whatever it is."""
    setup = Setup(
        policies=[GROWS_AND_MOVES, RETRIES_ALL],
        queues={"q": str(GROWS_AND_MOVES["name"]), "all": str(RETRIES_ALL["name"])},
        executor=QUICK,
    )
    with scene_on(real_api, tmp_path_factory.mktemp("product"), setup) as scene:
        yield scene


@pytest.fixture
def scene(running: Scene) -> Iterator[Scene]:
    """The same with the gate open, and no pods left behind."""
    yield running
    running.gate.open()
    running.api.wipe_pods(NAMESPACE)

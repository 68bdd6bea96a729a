"""The executor goes on where the API server forgets, dies, or asks for patience: nothing is lost or told twice."""

from datetime import datetime
from itertools import pairwise

import pytest

from refloat_common.core.ids import JobId
from testkit.live.product import in_words
from testkit.live.retry import PEER_LOST, at_first, pod_spec
from testkit.live.scene import PODS, STEP_S, Scene
from testkit.real_kube.busy import ONE_WRITE_FLAGS, writes_refused

pytestmark = pytest.mark.kube

PODS_LISTED = 'refloat_executor_lists_total{what="pods"}'
ONE_RETRY = [
    "submitted", "queued", "leased", "pending", "running", "failed peer/collective, retried",
    "leased", "pending", "succeeded",
]  # fmt: skip


def story(scene: Scene, job: JobId) -> list[str]:
    """What was told of a job, without the start of the second attempt, which may be too short to be seen."""
    told = [in_words(event) for event in scene.product.told[job]]
    return [words for place, words in enumerate(told) if words != "running" or place < 6]


def test_a_failure_in_a_gap_that_the_server_has_forgotten_is_found_by_a_new_list(scene: Scene) -> None:
    job = scene.started({**PEER_LOST, "afterMs": 500})
    uid, listed = scene.uid(job), scene.product.metric(PODS_LISTED)
    scene.gate.shut()
    scene.product.until(lambda: scene.onlooker.first(uid, phase="Failed"), STEP_S, "the pod fails unseen")
    scene.api.forget_history()
    scene.gate.open()
    scene.product.until_over([job], STEP_S)
    assert story(scene, job) == ONE_RETRY
    assert scene.product.metric(PODS_LISTED) > listed


def test_a_server_that_is_killed_under_a_watch_and_comes_back_costs_nothing(scene: Scene) -> None:
    job = scene.started({**PEER_LOST, "afterMs": 300})
    scene.api.restart_server()
    scene.product.until_over([job], STEP_S)
    assert story(scene, job) == ONE_RETRY
    assert len(scene.onlooker.uids(scene.name(job))) == 2


def test_a_server_that_answers_429_is_left_in_peace_for_as_long_as_it_asks(scene: Scene) -> None:
    scene.api.restart_server(*ONE_WRITE_FLAGS)
    try:
        fails = scene.started({**PEER_LOST, "afterMs": 1500})
        uid = scene.uid(fails)
        with writes_refused(scene.api.executor, PODS):
            [starts] = scene.product.submit(pod_spec(), queue="all", annotations=at_first({"outcome": "succeed"}))
            scene.product.until(lambda: refused_often(scene), STEP_S, "delete and create are refused")
            assert scene.uid(fails) == uid
        scene.product.until_over([fails, starts], STEP_S)
    finally:
        scene.api.restart_server()
    assert story(scene, fails) == ONE_RETRY
    assert story(scene, starts) == ["submitted", "queued", "leased", "pending", "succeeded"]
    for verb in ("delete", "create"):
        pauses = [(later - sooner).total_seconds() for sooner, later in pairwise(refusals(scene, verb))]
        assert min(pauses) >= 1.0, pauses


def refused_often(scene: Scene) -> bool:
    """Whether each kind of request was refused three times."""
    return all(len(refusals(scene, verb)) >= 3 for verb in ("delete", "create"))


def refusals(scene: Scene, verb: str) -> list[datetime]:
    """When requests of this kind were answered with 429."""
    lines = scene.product.said("kube.call", verb=verb, result="throttled")
    return [datetime.fromisoformat(line["time"]) for line in lines]

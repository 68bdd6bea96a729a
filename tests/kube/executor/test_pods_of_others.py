"""What others do to a pod: they take its name, hold it back, end it; and how the executor ends one that will not go."""

import time
from collections.abc import Iterator

import pytest

from refloat_common.core.ids import JobId
from refloat_scheduler.core.events import JobFailed
from testkit.live.product import Json
from testkit.live.retry import LATE, PEER_LOST, pod_spec, script
from testkit.live.scene import PODS, STEP_S, Scene

pytestmark = pytest.mark.kube

RUNS: Json = {"outcome": "run"}
FORCED = 'armada_executor_pod_force_deleted_total{pool="default"}'
HELD = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASED = {"metadata": {"finalizers": None}}
TO_RUNNING = ["submitted", "queued", "leased", "pending", "running"]
DELETED_BY_OTHERS = "failed internal/externally-deleted, retried"
RETRY = ["leased", "pending", "succeeded"]


def story(scene: Scene, job: JobId) -> list[str]:
    """What was told of a job up to now, without the start of the second attempt."""
    told = scene.product.story(job)
    return [words for place, words in enumerate(told) if words != "running" or place < 5]


@pytest.mark.parametrize("grace_s", [0, 1], ids=["at-once", "with-grace"])
def test_a_running_pod_that_somebody_deletes_is_named_so_and_retried(scene: Scene, grace_s: int) -> None:
    job = scene.started(RUNS)
    scene.admin.delete(scene.path(job), uid=scene.uid(job), grace_s=grace_s).ok()
    scene.product.until_over([job], STEP_S)
    assert story(scene, job) == [*TO_RUNNING, DELETED_BY_OTHERS, *RETRY]


def test_a_finalizer_that_is_taken_off_in_time_only_delays_the_report(scene: Scene) -> None:
    job = scene.started({**PEER_LOST, "afterMs": 700})
    uid = scene.uid(job)
    scene.admin.merge(scene.path(job), HELD).ok()
    scene.product.until(lambda: is_going(scene, job), STEP_S, "the failed pod is deleted")
    assert story(scene, job) == TO_RUNNING
    scene.admin.merge(scene.path(job), RELEASED).ok()
    scene.product.until_over([job], STEP_S)
    assert story(scene, job) == [*TO_RUNNING, "failed peer/collective, retried", *RETRY]
    assert scene.onlooker.uids(scene.name(job))[0] == uid


def test_a_finalizer_that_stays_makes_the_pod_stuck_and_the_retry_waits_for_it(scene: Scene) -> None:
    job = scene.started({**PEER_LOST, "afterMs": 700})
    scene.admin.merge(scene.path(job), HELD).ok()
    stuck = "failed internal/stuck-terminating, retried"
    scene.product.until_told(job, stuck, STEP_S)
    # Nothing but time could show that no lease follows.
    time.sleep(1)
    assert story(scene, job) == [*TO_RUNNING, stuck]
    scene.admin.merge(scene.path(job), RELEASED).ok()
    scene.product.until_over([job], STEP_S)
    assert story(scene, job) == [*TO_RUNNING, stuck, *RETRY]
    first, second = scene.onlooker.uids(scene.name(job))
    gone, made = scene.onlooker.first(first, "DELETED"), scene.onlooker.first(second, "ADDED")
    assert gone is not None
    assert made is not None
    assert scene.onlooker.lines.index(gone) < scene.onlooker.lines.index(made)


def test_a_cancelled_pod_that_does_not_end_is_deleted_by_force(scene: Scene) -> None:
    job = scene.started({"outcome": "run", "onTerm": {"stuckMs": 3_600_000}})
    uid, forced = scene.uid(job), scene.product.metric(FORCED)
    scene.product.cancel(job, "all")
    scene.until_gone(job, uid)
    assert story(scene, job) == [*TO_RUNNING, "cancelling", "cancelled"]
    graces = [line.pod["metadata"].get("deletionGracePeriodSeconds") for line in scene.onlooker.of(scene.name(job))]
    assert list(dict.fromkeys(graces)) == [None, 1, 0]
    assert scene.product.metric(FORCED) == forced + 1


@pytest.fixture
def roomy(scene: Scene) -> Iterator[Scene]:
    """A second node, so that a returned lease has somewhere to go."""
    scene.kubelets.add(LATE)
    scene.product.until(lambda: scene.nodes_known() == 2, STEP_S, "the host knows both nodes")
    yield scene
    scene.kubelets.remove(LATE)
    scene.product.until(lambda: scene.nodes_known() == 1, STEP_S, "the host knows one node")


def test_a_stranger_under_the_same_name_is_never_touched_and_named_when_the_job_fails(roomy: Scene) -> None:
    job = roomy.started(RUNS)
    uid = replaced_unseen(roomy, job, {**likeness(roomy, job), "labels": {"app": "stranger"}})
    roomy.product.until_over([job], STEP_S)
    told = story(roomy, job)
    assert told[:6] == [*TO_RUNNING, DELETED_BY_OTHERS]
    assert told[6:-1] == ["leased", "lease_returned"] * (len(told[6:-1]) // 2) != []
    assert told[-1] == "failed internal/max-runs-exceeded, for good"
    ending = roomy.product.events(job)[-1]
    assert isinstance(ending, JobFailed)
    assert f"already exists (the name is held by a pod of no run, uid {uid})" in ending.reason
    assert roomy.uid(job) == uid
    assert not is_going(roomy, job)


def test_a_pod_that_took_the_name_of_a_failed_one_survives_the_deletion_that_was_meant_for_that(roomy: Scene) -> None:
    job = roomy.started({**PEER_LOST, "afterMs": 500})
    first = roomy.uid(job)
    roomy.gate.shut()
    roomy.product.until(lambda: roomy.onlooker.first(first, phase="Failed"), STEP_S, "the pod fails unseen")
    uid = replaced_unseen(roomy, job, {**likeness(roomy, job), "labels": {"app": "stranger"}})
    roomy.product.until_over([job], STEP_S)
    told = story(roomy, job)
    assert told[:6] == [*TO_RUNNING, "failed peer/collective, retried"]
    assert told[-1] == "failed internal/max-runs-exceeded, for good"
    assert len(roomy.product.said("kube.call", verb="delete", uid=first, result="conflict")) == 1
    assert roomy.uid(job) == uid
    assert not is_going(roomy, job)


def is_going(scene: Scene, job: JobId) -> bool:
    """Whether the job's pod was asked to go."""
    pod = scene.pod(job)
    return pod is not None and bool(pod["metadata"].get("deletionTimestamp"))


def likeness(scene: Scene, job: JobId) -> Json:
    """The metadata of a pod that takes the name and the labels of a job's pod."""
    pod = scene.pod(job)
    assert pod is not None
    return {key: pod["metadata"][key] for key in ("name", "namespace", "labels")} | {"annotations": script(RUNS)}


def replaced_unseen(scene: Scene, job: JobId, metadata: Json) -> str:
    """Delete a job's pod and put another into its place while the executor sees nothing; the other's uid."""
    uid = scene.uid(job)
    scene.gate.shut()
    scene.admin.delete(scene.path(job), uid=uid, grace_s=0).ok()
    scene.until_gone(job, uid)
    made = scene.admin.create(PODS, {"metadata": metadata, "spec": pod_spec()}).ok()
    scene.gate.open()
    return str(made["metadata"]["uid"])

"""What the pod store says has changed, and what it keeps."""

import msgspec

from refloat_common.core.pods import (
    ContainerState,
    ContainerStatus,
    ObjectMeta,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    StateRunning,
    StateTerminated,
)
from refloat_executor.core.cluster.store import Change, PodStore, slim
from refloat_executor.core.cluster.wire import WatchEvent

RUNS = ContainerStatus("main", ContainerState(running=StateRunning()))
ENDED = ContainerStatus("side", ContainerState(terminated=StateTerminated(exit_code=1)))


def pod(  # noqa: PLR0913  each argument is one field of a pod
    uid: str = "u1",
    phase: str = "Pending",
    *,
    version: str = "1",
    labels: dict[str, str] | None = None,
    deleted: str | None = None,
    containers: tuple[ContainerStatus, ...] = (RUNS,),
    conditions: tuple[PodCondition, ...] = (),
    namespace: str = "jobs",
    name: str = "armada-j-0",
) -> Pod:
    kept = {"armada_job_id": "j", "armada_job_run_id": "r"} if labels is None else labels
    meta = ObjectMeta(
        name=name, namespace=namespace, uid=uid, resource_version=version, deletion_timestamp=deleted, labels=kept
    )
    status = PodStatus(phase=phase, container_statuses=list(containers), conditions=list(conditions))
    return Pod(meta, PodSpec(node_name="n1"), status)


def running(**more: object) -> Pod:
    """What is kept of a pod that simply runs."""
    return msgspec.structs.replace(pod(phase="Running", **more), status=PodStatus(phase="Running"))  # type: ignore[arg-type]  # as `pod` takes them


def test_a_new_pod_a_change_and_its_end() -> None:
    store = PodStore()
    assert store.upsert(pod()) == (Change(None, pod()),)
    assert store.upsert(pod(phase="Failed", version="2")) == (Change(pod(), pod(phase="Failed", version="2")),)
    last = pod(phase="Failed", version="3", deleted="now")
    assert store.remove(last) == (Change(pod(phase="Failed", version="2"), None, last),)
    assert len(store) == 0


def test_another_uid_under_the_name_is_a_deletion_and_a_new_pod() -> None:
    store = PodStore()
    store.upsert(pod("u1"))
    assert store.upsert(pod("u2")) == (Change(pod("u1"), None, pod("u1")), Change(None, pod("u2")))
    assert store.get("jobs", "armada-j-0") == pod("u2")


def test_a_late_deletion_of_the_old_pod_leaves_the_new_one() -> None:
    store = PodStore()
    store.upsert(pod("u2"))
    assert store.remove(pod("u1")) == ()
    assert len(store) == 1


def test_pods_that_are_nobodys_are_not_kept() -> None:
    store = PodStore()
    assert store.upsert(pod(labels={"app": "web"})) == ()
    assert store.upsert(pod(labels={})) == ()
    assert len(store) == 0


def test_a_pod_of_nobody_that_took_the_name_ends_the_one_that_was_there() -> None:
    store = PodStore()
    store.upsert(pod("u1"))
    assert store.upsert(pod("u2", labels={})) == (Change(pod("u1"), None, pod("u1")),)
    assert len(store) == 0


def test_heartbeats_of_a_running_pod_are_no_changes() -> None:
    store = PodStore()
    assert store.upsert(pod(phase="Running")) == (Change(None, running()),)
    assert store.upsert(pod(phase="Running", version="2")) == ()
    assert store.get("jobs", "armada-j-0") == running()


def test_what_may_say_how_a_running_pod_ends_is_a_change() -> None:
    signs = {
        "deletion": pod(phase="Running", deleted="soon"),
        "a container that ended": pod(phase="Running", containers=(RUNS, ENDED)),
        "disruption": pod(phase="Running", conditions=(PodCondition(type="DisruptionTarget", status="True"),)),
        "a reason": msgspec.structs.replace(pod(), status=PodStatus(phase="Running", reason="NodeLost")),
    }
    for sign, after in signs.items():
        store = PodStore()
        store.upsert(pod(phase="Running"))
        assert store.upsert(after) == (Change(running(), after),), sign
        back = store.upsert(pod(phase="Running"))
        assert back == (Change(after, running()),), sign


def test_a_list_replaces_its_own_namespace_only() -> None:
    store = PodStore()
    store.upsert(pod("u1"))
    store.upsert(pod("u3", name="armada-k-0"))
    other = pod("u9", namespace="other")
    store.upsert(other)
    changes = store.replace([pod("u1", phase="Failed")], "jobs")
    gone = pod("u3", name="armada-k-0")
    assert changes == [Change(pod("u1"), pod("u1", phase="Failed")), Change(gone, None, gone)]
    assert store.replace([], "") == [
        Change(pod("u1", phase="Failed"), None, pod("u1", phase="Failed")),
        Change(other, None, other),
    ]


def test_a_watch_in_order() -> None:
    store = PodStore()
    changes = store.watched([
        WatchEvent("ADDED", pod()),
        WatchEvent("MODIFIED", pod(phase="Running")),
        WatchEvent("MODIFIED", pod(phase="Running", version="2")),
        WatchEvent("DELETED", pod(phase="Running", version="3")),
    ])  # fmt: skip
    assert changes == [
        Change(None, pod()),
        Change(pod(), running()),
        Change(running(), None, pod(phase="Running", version="3")),
    ]


def test_only_what_is_read_again_is_kept() -> None:
    meta = ObjectMeta(
        name="n",
        namespace="jobs",
        uid="u",
        labels={"armada_job_id": "j", "armada_job_run_id": "r", "team": "x"},
        annotations={"a": "b"},
        finalizers=["f"],
    )
    kept = slim(Pod(meta), runs=False).metadata
    assert (kept.labels, kept.annotations, kept.finalizers) == (
        {"armada_job_id": "j", "armada_job_run_id": "r"},
        None,
        ["f"],
    )

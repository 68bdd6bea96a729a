"""What the other node tests rely on: a real kubelet runs pods, and tells how they ended."""

from collections.abc import Iterator

import pytest

from testkit.real_kube import IMAGE, Json, RealNode, until

pytestmark = pytest.mark.node

PODS = "/api/v1/namespaces/refloat-jobs/pods"


def pod(name: str, script: str, memory: str = "64Mi", **spec: object) -> Json:
    container = {
        "name": "main",
        "image": IMAGE,
        "command": ["sh", "-c", script],
        "resources": {"requests": {"memory": memory}, "limits": {"memory": memory}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], **spec},
    }


def ending(pod: Json) -> tuple[str, int, str]:
    (status,) = pod["status"]["containerStatuses"]
    terminated = status["state"]["terminated"]
    return pod["status"]["phase"], terminated["exitCode"], terminated["reason"]


@pytest.fixture
def cluster(real_node: RealNode) -> Iterator[RealNode]:
    yield real_node
    real_node.api.wipe_pods("refloat-jobs")


@pytest.mark.parametrize(
    ("name", "script", "expected"),
    [
        ("succeeds", "true", ("Succeeded", 0, "Completed")),
        ("exits-3", "exit 3", ("Failed", 3, "Error")),
        # The runtime begins to listen for the kernel's kills when a container runs already: one that it has missed it
        # calls `Error`. And it may hear of a kill after the end, where both come in the same instant.
        ("out-of-memory", "sleep 2; tail /dev/zero; code=$?; sleep 1; exit $code", ("Failed", 137, "OOMKilled")),
    ],
)
def test_a_pod_ends_as_its_script_does(
    cluster: RealNode, name: str, script: str, expected: tuple[str, int, str]
) -> None:
    cluster.api.executor.create(PODS, pod(name, script, "32Mi")).ok()
    assert ending(cluster.pod_in_phase("refloat-jobs", name, "Succeeded", "Failed")) == expected


def test_the_node_is_known_by_its_hostname_label(cluster: RealNode) -> None:
    (node,) = cluster.api.executor.get("/api/v1/nodes").ok()["items"]
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "real1"


def test_a_pod_that_avoids_the_only_node_is_not_placed(cluster: RealNode) -> None:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["real1"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    cluster.api.executor.create(PODS, pod("elsewhere", "true", affinity=affinity)).ok()

    def unschedulable() -> bool:
        conditions = cluster.api.executor.get(f"{PODS}/elsewhere").ok()["status"].get("conditions", ())
        return any(item["type"] == "PodScheduled" and item.get("reason") == "Unschedulable" for item in conditions)

    assert until(unschedulable, 20.0, "the scheduler says Unschedulable")


def test_a_deleted_running_pod_is_gone_after_its_grace(cluster: RealNode) -> None:
    made = cluster.api.executor.create(PODS, pod("runs", "trap 'exit 0' TERM; sleep 1000 & wait")).ok()
    cluster.pod_in_phase("refloat-jobs", "runs", "Running")
    cluster.api.executor.delete(f"{PODS}/runs", uid=made["metadata"]["uid"]).ok()
    assert until(lambda: cluster.api.executor.get(f"{PODS}/runs").status == 404, 20.0, "the pod is gone")


def test_an_image_that_is_not_there_is_refused_without_a_look_outside(cluster: RealNode) -> None:
    absent = pod("absent", "true")
    absent["spec"]["containers"][0]["image"] = "refloat.test/absent:1"
    cluster.api.executor.create(PODS, absent).ok()

    def message() -> str | None:
        (status,) = cluster.api.executor.get(f"{PODS}/absent").ok()["status"].get("containerStatuses") or [{}]
        waiting = status.get("state", {}).get("waiting", {})
        return waiting.get("message") if waiting.get("reason") in {"ErrImagePull", "ImagePullBackOff"} else None

    assert "dial tcp 127.0.0.1:1: connect: connection refused" in until(message, 20.0, "the pull has failed")

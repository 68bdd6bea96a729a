"""Registers nodes and keeps them alive: Node objects, their status, and the leases that prove a kubelet lives."""

from refloat_fakekube.core.objects import Json, micro_time_text, objects, text, time_text
from refloat_fakekube.kubelet.client import ApiClient, ApiError
from refloat_fakekube.kubelet.settings import NodeSpec

_CONFLICT, _NOT_FOUND = 409, 404
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_LEASE_S = 40
_PRESSURES = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}


def node_object(spec: NodeSpec, now_s: float) -> Json:
    """The Node as its kubelet registers it."""
    labels: Json = {"kubernetes.io/hostname": spec.name, "kubernetes.io/os": "linux", **spec.labels}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": spec.name, "labels": labels},
        "spec": spec.spec(),
        "status": node_status(spec, now_s),
    }


def node_status(spec: NodeSpec, now_s: float) -> Json:
    """The status of a node that is well."""
    at = time_text(now_s)
    conditions: list[Json] = [
        _condition(kind, "False", reason, message, at) for kind, (reason, message) in _PRESSURES.items()
    ]
    conditions.append(_condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", at))
    return {
        "capacity": dict(spec.allocatable),
        "allocatable": dict(spec.allocatable),
        "conditions": [*conditions],
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": spec.name}],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "containerd://1.7.0",
            "kernelVersion": "6.1.0",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.34.4",
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "fake",
            "systemUUID": "",
        },
    }


def _condition(kind: str, status: str, reason: str, message: str, at: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": at,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }


async def register(client: ApiClient, spec: NodeSpec, now_s: float) -> None:
    """Create the node, or take it over; either way it is ready, with the taints of its specification alone.

    Raises:
        ApiError: the server refused.
    """
    path = f"/api/v1/nodes/{spec.name}"
    try:
        node = await client.call("POST", "/api/v1/nodes", node_object(spec, now_s))
    except ApiError as error:
        if error.code != _CONFLICT:
            raise
        node = await client.call("GET", path)
    await client.patch(f"{path}/status", {"status": node_status(spec, now_s)})
    if [text(one, "key") for one in objects(node, "spec", "taints")] != [one["key"] for one in spec.taints]:
        await client.patch(path, {"spec": {"taints": spec.spec().get("taints")}})


async def renew_lease(client: ApiClient, name: str, now_s: float) -> None:
    """Say that the node's kubelet lives.

    Raises:
        ApiError: the server refused.
    """
    body: Json = {
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": _LEASE_S,
            "renewTime": micro_time_text(now_s),
        },
    }
    try:
        await client.patch(f"{_LEASES}/{name}", body)
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        await client.call("POST", _LEASES, body)

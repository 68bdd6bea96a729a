"""What controllers decide: when a taint drives a pod away, and how a node that fell silent is marked.

Sources: the controllers `tainteviction` and `nodelifecycle` of Kubernetes; shapes: `tests/data/real_node.jsonl`.
"""

from collections.abc import Iterable

from refloat_fakekube.core.control.scheduling import tolerates
from refloat_fakekube.core.objects import Json, number, objects, text, time_text

UNREACHABLE = "node.kubernetes.io/unreachable"
NODE_GONE = ("DeletionByPodGC", "PodGC: node no longer exists")
NODE_NOT_READY = ("NodeNotReady", "Node is not ready")
_TERMINAL = ("Failed", "Succeeded")


def ended(pod: Json) -> bool:
    """Whether the pod has its final phase."""
    return text(pod, "status", "phase") in _TERMINAL


def patience_s(pod: Json, node: Json) -> float | None:
    """How long the pod bears the node's NoExecute taints: seconds from their arrival, None for ever."""
    left: list[float] = []
    for taint in objects(node, "spec", "taints"):
        if taint.get("effect") != "NoExecute":
            continue
        bearing = [one for one in objects(pod, "spec", "tolerations") if tolerates(one, taint)]
        if not bearing:
            return 0.0
        limits = [seconds for one in bearing if (seconds := number(one, "tolerationSeconds")) is not None]
        if len(limits) == len(bearing):
            left.append(float(min(limits)))
    return min(left) if left else None


def lost_node_taints(taints: Iterable[Json], now_s: float) -> list[Json]:
    """The taints of a node whose kubelet fell silent."""
    others = [one for one in taints if one.get("key") != UNREACHABLE]
    at = time_text(now_s)
    return [
        *others,
        {"key": UNREACHABLE, "effect": "NoSchedule", "timeAdded": at},
        {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": at},
    ]


def found_node_taints(taints: Iterable[Json]) -> list[Json]:
    """The taints of a node whose kubelet speaks again."""
    return [one for one in taints if one.get("key") != UNREACHABLE]


def lost_node_condition(now_s: float) -> Json:
    """The Ready condition of a node whose kubelet fell silent."""
    return {
        "type": "Ready",
        "status": "Unknown",
        "lastTransitionTime": time_text(now_s),
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }

"""Decides on which node a pod fits: selector, required affinity, taints, cordon and room; and says why on none.

Words: those of the default scheduler (`tests/data/real_node.jsonl`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from refloat_common.core.quantity import NANO, QuantityShapeError, QuantitySuffixError, parse
from refloat_fakekube.core.objects import Json, names, objects, section, text, texts

_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
_CORDONED = "node(s) were unschedulable"
_TAINTED = "node(s) had untolerated taint(s)"
_FULL = "Too many pods"
_ANY_NUMBER = 1 << 62
_CORDON_TAINT = "node.kubernetes.io/unschedulable"
_COUNTED = ("cpu", "memory", "ephemeral-storage")

Room = dict[str, int]
"""Amounts by resource name, in units of 10⁻⁹ (`Quantity.nanos`)."""


@dataclass(slots=True)
class NodeRoom:
    """A node as the scheduler sees it: the object, what it can give, what its pods have asked for, and how many."""

    node: Json
    allocatable: Room
    used: Room = field(default_factory=dict)
    pods: int = 0

    @property
    def name(self) -> str:
        """Its name."""
        return text(self.node, "metadata", "name")

    def take(self, requests: Room, sign: int = 1) -> None:
        """Count a pod in (or out, with -1)."""
        self.pods += sign
        for name, amount in requests.items():
            self.used[name] = self.used.get(name, 0) + sign * amount


def room_of(node: Json) -> NodeRoom:
    """A node nobody uses yet."""
    given = {name: _amount(value) for name, value in texts(node, "status", "allocatable").items()}
    return NodeRoom(node, given)


def _amount(value: str) -> int:
    try:
        return parse(value).nanos
    except (QuantityShapeError, QuantitySuffixError):
        return 0


def requests_of(pod: Json) -> Room:
    """What a pod asks for: the sum of its containers and sidecars, or its largest init container if that is more."""
    total: Room = {}
    for container in objects(pod, "spec", "containers"):
        _add(total, _requests(container))
    sidecars: Room = {}
    largest: Room = {}
    for container in objects(pod, "spec", "initContainers"):
        if text(container, "restartPolicy") == "Always":
            _add(sidecars, _requests(container))
            continue
        for name, amount in _requests(container).items():
            largest[name] = max(largest.get(name, 0), amount + sidecars.get(name, 0))
    _add(total, sidecars)
    for name, amount in largest.items():
        total[name] = max(total.get(name, 0), amount)
    return total


def _requests(container: Json) -> Room:
    return {name: _amount(value) for name, value in texts(container, "resources", "requests").items()}


def _add(total: Room, more: Room) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def obstacle(pod: Json, requests: Room, room: NodeRoom) -> str:
    """Why the pod, which asks for `requests`, can't go to the node; empty when it can."""
    spec, node = section(pod, "spec"), room.node
    if not matches(spec, node):
        return _AFFINITY
    tolerations = objects(spec, "tolerations")
    if section(node, "spec").get("unschedulable") and not _tolerated(
        {"key": _CORDON_TAINT, "effect": "NoSchedule"}, tolerations
    ):
        return _CORDONED
    for taint in objects(node, "spec", "taints"):
        if taint.get("effect") in {"NoSchedule", "NoExecute"} and not _tolerated(taint, tolerations):
            return _TAINTED
    if room.pods * NANO >= room.allocatable.get("pods", _ANY_NUMBER):
        return _FULL
    for name, amount in requests.items():
        if amount and amount > room.allocatable.get(name, 0) - room.used.get(name, 0):
            return f"Insufficient {name}"
    return ""


def matches(spec: Json, node: Json) -> bool:
    """Whether a node is one that the pod's `nodeSelector` and required node affinity allow."""
    labels = texts(node, "metadata", "labels")
    if any(labels.get(key) != value for key, value in texts(spec, "nodeSelector").items()):
        return False
    required = section(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = objects(required, "nodeSelectorTerms")
    return not required or any(_term_holds(term, labels, text(node, "metadata", "name")) for term in terms)


def _term_holds(term: Json, labels: Mapping[str, str], name: str) -> bool:
    expressions, fields = objects(term, "matchExpressions"), objects(term, "matchFields")
    if not expressions and not fields:
        return False
    by_name = {"metadata.name": name}
    return all(_holds(one, labels) for one in expressions) and all(_holds(one, by_name) for one in fields)


def _holds(expression: Json, labels: Mapping[str, str]) -> bool:
    found, values = labels.get(text(expression, "key")), names(expression, "values")
    match expression.get("operator"):
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt" as operator:
            return found is not None and (int(found) > int(values[0])) == (operator == "Gt") and found != values[0]
        case _:
            return False


def _tolerated(taint: Json, tolerations: Iterable[Json]) -> bool:
    return any(tolerates(one, taint) for one in tolerations)


def tolerates(toleration: Json, taint: Json) -> bool:
    """Whether a toleration is for this taint."""
    if toleration.get("effect") not in {None, "", taint.get("effect")}:
        return False
    key = text(toleration, "key")
    if toleration.get("operator") == "Exists":
        return key in {"", text(taint, "key")}
    return key == text(taint, "key") and text(toleration, "value") == text(taint, "value")


def place(pod: Json, rooms: Iterable[NodeRoom]) -> tuple[str, str]:
    """The node for a pod, the one with most room left (ties: by name), and else why there is none."""
    fitting: list[tuple[float, str]] = []
    obstacles: Counter[str] = Counter()
    hopeless = total = 0
    requests = requests_of(pod)
    for room in rooms:
        total += 1
        why = obstacle(pod, requests, room)
        if not why:
            fitting.append((_load(room), room.name))
            continue
        obstacles[why] += 1
        hopeless += not _could_ever(why, requests, room)
    if fitting:
        return min(fitting)[1], ""
    return "", _explained(total, obstacles, hopeless)


def _load(room: NodeRoom) -> float:
    shares = [room.used.get(name, 0) / room.allocatable[name] for name in _COUNTED if room.allocatable.get(name)]
    return max(shares, default=float(room.pods))


def _could_ever(why: str, requests: Room, room: NodeRoom) -> bool:
    """Whether taking other pods away could help."""
    if why == _FULL:
        return True
    if not why.startswith("Insufficient"):
        return False
    return all(amount <= room.allocatable.get(name, 0) for name, amount in requests.items())


def _explained(total: int, obstacles: Counter[str], hopeless: int) -> str:
    if not total:
        return "no nodes available to schedule pods"
    reasons = ", ".join(sorted(f"{count} {why}" for why, count in obstacles.items()))
    counts = {"No preemption victims found for incoming pod": total - hopeless}
    counts["Preemption is not helpful for scheduling"] = hopeless
    preemption = ", ".join(sorted(f"{count} {why}" for why, count in counts.items() if count))
    return (
        f"0/{total} nodes are available: {reasons}. no new claims to deallocate, preemption: 0/{total} nodes are "
        f"available: {preemption}."
    )

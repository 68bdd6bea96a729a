"""What a pod asks of a node, derived from its Kubernetes JSON spec once, at submission.

Totals follow Kubernetes: containers and native sidecars run together, an ordinary init container runs beside the
sidecars that were started before it, and the larger of the two counts (component-helpers `PodRequests`). A container
that has a limit but no request for a resource asks for its limit. Pod-level resources, where given, replace the total.
"""

from collections.abc import Iterable, Mapping, Sequence

from refloat_common.core import quantity
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_common.core.quantity import ZERO, Quantity
from refloat_scheduler.core.model import MatchExpression, NodeTerm, Requirements, Toleration

Amounts = dict[str, Quantity]


class PodSpecError(ValueError):
    """A pod spec can't be read; `path` leads to what is wrong in it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


def requirements_of(spec: JsonObject) -> Requirements:
    """What a pod with this spec asks of a node.

    Raises:
        PodSpecError: a part that matters has the wrong type, or a quantity means nothing.
    """
    return Requirements(
        requests=_texts(pod_total(spec, "requests")),
        limits=_texts(pod_total(spec, "limits")),
        node_selector=_strings(spec.get("nodeSelector"), "nodeSelector"),
        node_terms=node_terms(spec),
        tolerations=tuple(_toleration(item, path) for item, path in items(spec, "tolerations")),
    )


def pod_total(spec: JsonObject, kind: str) -> Amounts:
    """The pod's total per resource; `kind` is `requests` or `limits`."""
    together: Amounts = {}
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container, path in items(spec, "initContainers"):
        amounts = container_amounts(container, path, kind)
        if is_sidecar(container):
            sidecars = _sum(sidecars, amounts)
            peak = _larger(peak, sidecars)
        else:
            peak = _larger(peak, _sum(amounts, sidecars))
    for container, path in items(spec, "containers"):
        together = _sum(together, container_amounts(container, path, kind))
    total = _larger(_sum(together, sidecars), peak)
    total |= _amounts(obj(spec.get("resources"), "resources").get(kind), f"resources.{kind}")
    overhead = _amounts(spec.get("overhead"), "overhead")
    return _sum(total, {name: value for name, value in overhead.items() if kind == "requests" or name in total})


def is_sidecar(container: JsonObject) -> bool:
    """Whether an init container runs beside the main ones (`restartPolicy: Always`)."""
    return container.get("restartPolicy") == "Always"


def container_amounts(container: JsonObject, path: str, kind: str) -> Amounts:
    """One container's requests or limits; requests default to limits."""
    resources = obj(container.get("resources"), f"{path}.resources")
    amounts = _amounts(resources.get(kind), f"{path}.resources.{kind}")
    if kind == "limits":
        return amounts
    return _amounts(resources.get("limits"), f"{path}.resources.limits") | amounts


def node_terms(spec: JsonObject) -> tuple[NodeTerm, ...] | None:
    """The required node affinity; None if there is none."""
    path = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    node: JsonValue = spec
    for key in path.split("."):
        node = obj(node, path).get(key)
    if node is None:
        return None
    return tuple(
        NodeTerm(
            tuple(_expression(item, at) for item, at in items(term, "matchExpressions", at_term)),
            tuple(_expression(item, at) for item, at in items(term, "matchFields", at_term)),
        )
        for term, at_term in items(obj(node, path), "nodeSelectorTerms", path)
    )


def items(parent: JsonObject, key: str, path: str = "") -> Iterable[tuple[JsonObject, str]]:
    """The objects of a list, each with its path."""
    at = f"{path}.{key}" if path else key
    value = parent.get(key)
    if value is None:
        return
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise PodSpecError(at, "expected a list")
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise PodSpecError(f"{at}[{index}]", "expected an object")
        yield item, f"{at}[{index}]"


def obj(value: JsonValue, path: str) -> JsonObject:
    """An object; empty for null."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PodSpecError(path, "expected an object")
    return value


def amount(value: JsonValue, path: str) -> Quantity:
    """A quantity; JSON numbers are taken as their text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise PodSpecError(path, "expected a quantity")
    try:
        return quantity.parse(str(value))
    except ValueError as error:
        raise PodSpecError(path, f'"{value}" is no quantity: {error}') from None


def _amounts(value: JsonValue, path: str) -> Amounts:
    return {name: amount(text, f"{path}.{name}") for name, text in obj(value, path).items()}


def _sum(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: left.get(name, ZERO) + value for name, value in right.items()}


def _larger(left: Amounts, right: Amounts) -> Amounts:
    larger = {name: value for name, value in right.items() if name not in left or value.nanos > left[name].nanos}
    return left | larger


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: str(value) for name, value in amounts.items()}


def _strings(value: JsonValue, path: str) -> dict[str, str]:
    return {key: text(item, f"{path}.{key}") for key, item in obj(value, path).items()}


def text(value: JsonValue, path: str) -> str:
    """A string; empty for null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise PodSpecError(path, "expected a string")
    return value


def _expression(item: JsonObject, path: str) -> MatchExpression:
    values = item.get("values")
    if values is not None and (isinstance(values, str) or not isinstance(values, Sequence)):
        raise PodSpecError(f"{path}.values", "expected a list")
    return MatchExpression(
        key=text(item.get("key"), f"{path}.key"),
        operator=text(item.get("operator"), f"{path}.operator"),
        values=tuple(text(value, f"{path}.values") for value in values or ()),
    )


def _toleration(item: JsonObject, path: str) -> Toleration:
    return Toleration(
        key=text(item.get("key"), f"{path}.key"),
        operator=text(item.get("operator"), f"{path}.operator") or "Equal",
        value=text(item.get("value"), f"{path}.value"),
        effect=text(item.get("effect"), f"{path}.effect"),
    )

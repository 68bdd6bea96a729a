"""Whether a node satisfies selectors, affinity terms and tolerations, as kube-scheduler judges it."""

from collections.abc import Mapping

from refloat_scheduler.core.model import MatchExpression, NodeTerm, Toleration

CONDITION_TAINTS = frozenset(
    {
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
    },
)
"""Taints that come and go with a node's condition: they say nothing about whether it could ever take a pod."""

_REPELLING = frozenset({"NoSchedule", "NoExecute"})
_MAX_INT64_DIGITS = 19


def repels(key: str, effect: str) -> bool:
    """Whether a taint keeps pods away for good unless they tolerate it; a cordon does not."""
    return effect in _REPELLING and key not in CONDITION_TAINTS


def tolerates(tolerations: tuple[Toleration, ...], key: str, value: str, effect: str) -> bool:
    """Whether one of a pod's tolerations covers a taint."""
    return any(_covers(toleration, key, value, effect) for toleration in tolerations)


def _covers(toleration: Toleration, key: str, value: str, effect: str) -> bool:
    if toleration.effect and toleration.effect != effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == key
    return toleration.operator == "Equal" and toleration.key == key and toleration.value == value


def matches_terms(terms: tuple[NodeTerm, ...], labels: Mapping[str, str], name: str) -> bool:
    """Whether any of the terms holds; no terms, and a term without any expression, match nothing."""
    return any(_matches_term(term, labels, name) for term in terms)


def _matches_term(term: NodeTerm, labels: Mapping[str, str], name: str) -> bool:
    if not term.expressions and not term.fields:
        return False
    fields = {"metadata.name": name}
    return all(_holds(e, labels) for e in term.expressions) and all(_holds(e, fields) for e in term.fields)


def _holds(expression: MatchExpression, labels: Mapping[str, str]) -> bool:
    """One expression; an unknown operator holds nowhere, as kube-apiserver would have refused it."""
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value is not None and value in expression.values
        case "NotIn":
            return value is None or value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(expression, value)
        case _:
            return False


def _compares(expression: MatchExpression, value: str) -> bool:
    """`Gt` and `Lt` compare whole numbers; anything else does not match."""
    if len(expression.values) != 1:
        return False
    left, right = _integer(value), _integer(expression.values[0])
    if left is None or right is None:
        return False
    return left > right if expression.operator == "Gt" else left < right


def _integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_INT64_DIGITS else None

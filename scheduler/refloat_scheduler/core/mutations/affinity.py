"""Keeping a retry off the nodes that earlier attempts ran on (specification: *affinity.avoidSameNode*).

The avoidance is a required node affinity: the label `nodeIdLabel` must not have one of the values that it has on those
nodes. It joins the pod's own affinity, in each of its terms because any one term may admit a node, and stays for all
later runs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_scheduler.core.fit.requirements import items, obj, text
from refloat_scheduler.core.model import Job, MatchExpression, MutationRecord, NodeTerm, Requirements

NOT_IN = "NotIn"


def labels_to_avoid(job: Job) -> tuple[str, ...]:
    """The label values of all nodes on which a run of the job was attempted, expired runs too, sorted.

    A run whose node carries no such label is not among them: the label is not tracked, and nothing can be avoided.
    """
    return tuple(sorted({run.node_label for run in job.runs if run.attempted and run.node_label}))


def avoiding(requirements: Requirements, label: str, values: Iterable[str]) -> Requirements:
    """Requirements that also keep off the nodes with these label values."""
    terms = requirements.node_terms or (NodeTerm(),)
    wanted = tuple(sorted(set(values)))
    return replace(requirements, node_terms=tuple(_term(term, label, wanted) for term in terms))


def recorded(record: MutationRecord, values: Iterable[str]) -> MutationRecord:
    """The record with these label values added."""
    return replace(record, avoid=tuple(sorted({*record.avoid, *values})), version=record.version + 1)


def _term(term: NodeTerm, label: str, values: tuple[str, ...]) -> NodeTerm:
    """One term with the values added to its first `NotIn` on that label, or to a new one."""
    for index, expression in enumerate(term.expressions):
        if expression.key == label and expression.operator == NOT_IN:
            merged = replace(expression, values=_merged(expression.values, values))
            return replace(term, expressions=(*term.expressions[:index], merged, *term.expressions[index + 1 :]))
    return replace(term, expressions=(*term.expressions, MatchExpression(label, NOT_IN, values)))


def _merged(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return (*old, *(value for value in new if value not in old))


def avoiding_spec(spec: JsonObject, label: str, values: tuple[str, ...]) -> JsonObject:
    """A pod spec whose required node affinity also keeps off the nodes with these label values."""
    if not values:
        return spec
    affinity = obj(spec.get("affinity"), "affinity")
    node = obj(affinity.get("nodeAffinity"), "affinity.nodeAffinity")
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    required = obj(node.get(key), f"affinity.nodeAffinity.{key}")
    terms = [term for term, _ in items(required, "nodeSelectorTerms")] or [{}]
    new: list[JsonValue] = [_term_spec(term, label, values) for term in terms]
    return {
        **spec,
        "affinity": {**affinity, "nodeAffinity": {**node, key: {**required, "nodeSelectorTerms": new}}},
    }


def _term_spec(term: JsonObject, label: str, values: tuple[str, ...]) -> JsonObject:
    expressions: list[JsonValue] = [expression for expression, _ in items(term, "matchExpressions")]
    for index, (expression, path) in enumerate(items(term, "matchExpressions")):
        if _is_not_in(expression, label, path):
            old = expression.get("values")
            known = tuple(old) if isinstance(old, list | tuple) else ()
            kept = tuple(text(value, path) for value in known)
            expressions[index] = {**expression, "values": list(_merged(kept, values))}
            return {**term, "matchExpressions": expressions}
    added: Mapping[str, JsonValue] = {"key": label, "operator": NOT_IN, "values": list(values)}
    return {**term, "matchExpressions": [*expressions, added]}


def _is_not_in(expression: JsonObject, label: str, path: str) -> bool:
    return text(expression.get("key"), path) == label and text(expression.get("operator"), path) == NOT_IN

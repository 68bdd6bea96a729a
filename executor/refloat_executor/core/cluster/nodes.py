"""Keeps what the scheduler must know of the nodes, and says what of it changed.

A node writes its status every few minutes; only what the static-fit probe reads counts as a change.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from refloat_common.core.messages import NodeFacts, TaintFact
from refloat_common.core.pods import Node


@dataclass(frozen=True, slots=True)
class NodeDelta:
    """Nodes that were added or changed, and the names of those that went."""

    upserted: tuple[NodeFacts, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.upserted or self.removed)


class NodeBook:
    """The nodes by name: facts for the scheduler, and the value of the label by which a retry avoids a node."""

    def __init__(self, tracked_labels: Iterable[str], node_id_label: str) -> None:
        self._tracked = tuple(tracked_labels)
        self._id_label = node_id_label
        self._facts: dict[str, NodeFacts] = {}
        self._id_values: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._facts)

    def id_value(self, node_name: str) -> str:
        """The value of `nodeIdLabel` on that node; empty where the node is not known or the label is not tracked.

        What the scheduler can't see must not be avoided: its probe would count a node that the pod may not run on.
        """
        return self._id_values.get(node_name, "")

    def replace(self, nodes: Iterable[Node]) -> NodeDelta:
        """Take over a complete list."""
        listed = list(nodes)
        names = {node.metadata.name for node in listed}
        removed = tuple(sorted(self._facts.keys() - names))
        for name in removed:
            self._forget(name)
        upserted = tuple(facts for node in listed for facts in self.upsert(node).upserted)
        return NodeDelta(upserted, removed)

    def upsert(self, node: Node) -> NodeDelta:
        """Take over one node; the delta is empty if nothing of interest changed."""
        name = node.metadata.name
        facts = facts_of(node, self._tracked)
        self._id_values[name] = facts.labels.get(self._id_label, "")
        if self._facts.get(name) == facts:
            return NodeDelta()
        self._facts[name] = facts
        return NodeDelta(upserted=(facts,))

    def remove(self, node: Node) -> NodeDelta:
        """Forget one node."""
        name = node.metadata.name
        if name not in self._facts:
            return NodeDelta()
        self._forget(name)
        return NodeDelta(removed=(name,))

    def _forget(self, name: str) -> None:
        # The label's value stays: a failure on a node that has just gone still says which node it was.
        del self._facts[name]


def facts_of(node: Node, tracked_labels: Iterable[str]) -> NodeFacts:
    """A node as the scheduler's static-fit probe reads it."""
    labels = node.metadata.labels or {}
    return NodeFacts(
        name=node.metadata.name,
        labels={key: labels[key] for key in tracked_labels if key in labels},
        allocatable=dict(node.status.allocatable or {}),
        taints=[TaintFact(key=taint.key, value=taint.value, effect=taint.effect) for taint in node.spec.taints or ()],
        unschedulable=node.spec.unschedulable,
    )

"""The static-fit probe: could any node of the fleet ever take this pod, were it empty?

Occupancy, fair share and cordons are ignored (specification: *The probe checks static fit only*). The fleet is what
all known executors have reported last, silent ones too: a silent cluster is not a fleet without nodes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from refloat_common.core import quantity
from refloat_common.core.messages import NodeFacts
from refloat_scheduler.core.fit.selectors import matches_terms, repels, tolerates
from refloat_scheduler.core.model import Requirements


@dataclass(frozen=True, slots=True)
class FleetNode:
    """A node as the probe sees it: amounts in 10⁻⁹ units, only the taints that keep pods away for good."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    taints: tuple[tuple[str, str, str], ...] = ()


def fleet_node(facts: NodeFacts) -> FleetNode:
    """A node from what its executor says; an amount that means nothing counts as none."""
    taints = tuple((taint.key, taint.value, taint.effect) for taint in facts.taints if repels(taint.key, taint.effect))
    return FleetNode(facts.name, facts.labels, _nanos(facts.allocatable), taints)


def _nanos(amounts: Mapping[str, str]) -> dict[str, int]:
    nanos: dict[str, int] = {}
    for name, text in amounts.items():
        try:
            nanos[name] = quantity.parse(text).nanos
        except ValueError:
            continue
    return nanos


@dataclass(frozen=True, slots=True)
class Fleet:
    """All nodes of all known executors."""

    nodes: tuple[FleetNode, ...] = ()

    @classmethod
    def of(cls, facts: Iterable[NodeFacts]) -> "Fleet":
        """The fleet that these nodes make up."""
        return cls(tuple(map(fleet_node, facts)))

    def fits(self, requirements: Requirements) -> bool:
        """Whether some node could ever take a pod with these requirements."""
        wanted = tuple(_nanos(requirements.requests).items())
        return any(not _obstacle(node, requirements, wanted) for node in self.nodes)

    def can_ever_fit(self, requirements: Requirements) -> bool:
        """As `fits`, but a fleet of which nothing is known yet refuses nothing."""
        return not self.nodes or self.fits(requirements)

    def obstacles(self, requirements: Requirements) -> Mapping[str, int]:
        """What keeps such a pod off the nodes, each with how many nodes it is the first obstacle on, most first."""
        wanted = tuple(_nanos(requirements.requests).items())
        found = Counter(_obstacle(node, requirements, wanted) for node in self.nodes)
        return {why: count for why, count in found.most_common() if why}


def _obstacle(node: FleetNode, requirements: Requirements, wanted: tuple[tuple[str, int], ...]) -> str:
    """The first thing that keeps a pod off a node; empty if it fits."""
    have = node.allocatable
    for name, amount in wanted:
        if amount > have.get(name, 0):
            return f"less {name} than {requirements.requests[name]}"
    labels = node.labels
    for key, value in requirements.node_selector.items():
        if labels.get(key) != value:
            return f"no label {key}={value} among those that its executor tracks"
    terms = requirements.node_terms
    if terms is not None and not matches_terms(terms, labels, node.name):
        return "no match for the node affinity among the labels that its executor tracks"
    for key, value, effect in node.taints:
        if not tolerates(requirements.tolerations, key, value, effect):
            return f"taint {key}={value}:{effect} that is not tolerated"
    return ""

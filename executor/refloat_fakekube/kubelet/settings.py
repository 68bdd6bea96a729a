"""How fake kubelets and their nodes are set up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from refloat_fakekube.core.objects import Json, JsonValue
from refloat_fakekube.core.play.machine import Latencies

DEFAULT_ALLOCATABLE = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
"""What a node gives when nothing else is said."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node: name, labels, what it gives, taints (`{"key","value","effect"}`), whether it is cordoned."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_ALLOCATABLE))
    taints: tuple[Mapping[str, str], ...] = ()
    unschedulable: bool = False

    def spec(self) -> Json:
        """`spec` of its Node object."""
        shown: Json = {}
        if self.taints:
            taints: list[JsonValue] = [dict(taint.items()) for taint in self.taints]
            shown["taints"] = taints
        if self.unschedulable:
            shown["unschedulable"] = True
        return shown


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    """Latencies; whether events are recorded; how often node leases are renewed; requests in flight at once.

    `node_grace_s`: how long after its last renewal a node counts as lost (`--node-monitor-grace-period`).
    """

    latencies: Latencies = Latencies()  # noqa: RUF009  # frozen
    events: bool = True
    lease_interval_s: float = 10.0
    parallel: int = 32
    node_grace_s: float = 40.0

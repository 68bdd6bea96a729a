"""What a pod on a node asks of its kubelet: a closed union, carried out by the kubelet's shell over the API."""

from dataclasses import dataclass
from typing import TypeAlias

from refloat_fakekube.core.objects import Json, time_text


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Write the pod's status; `patch` is a strategic merge patch of `pods/status`."""

    patch: Json


@dataclass(frozen=True, slots=True)
class Record:
    """Record an event about the pod; `path` is the `fieldPath` of a container, or empty."""

    kind: str
    reason: str
    message: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Remove:
    """The pod's containers are gone: delete it without grace."""


@dataclass(frozen=True, slots=True)
class Disrupt:
    """Somebody else ends the pod: condition DisruptionTarget, then an ordinary deletion."""

    reason: str
    message: str


def disruption_target(reason: str, message: str, generation: int, now_s: float) -> Json:
    """The condition with which a pod's end by somebody else is announced."""
    return {
        "type": "DisruptionTarget",
        "observedGeneration": generation,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": time_text(now_s),
        "reason": reason,
        "message": message,
    }


@dataclass(frozen=True, slots=True)
class Hold:
    """Put a finalizer on the pod, and take it off again after `seconds`."""

    finalizer: str
    seconds: float


@dataclass(frozen=True, slots=True)
class LoseNode:
    """The node dies: its kubelet does nothing any more."""


Effect: TypeAlias = WriteStatus | Record | Remove | Disrupt | Hold | LoseNode
"""Everything a pod can ask for."""

"""Shows the same events as `v1` and as `events.k8s.io/v1`.

Source: `k8s.io/kubernetes/pkg/apis/events/v1/conversion.go`.
"""

from refloat_fakekube.core.objects import Json
from refloat_fakekube.core.resources import EVENTS, NEW_EVENTS

_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK = {new: old for old, new in _RENAMED.items()}


def to_core(event: Json) -> Json:
    """An `events.k8s.io/v1` event as a core one."""
    return _renamed(event, _BACK, EVENTS.api_version)


def from_core(event: Json) -> Json:
    """A core event as an `events.k8s.io/v1` one."""
    shown = _renamed(event, _RENAMED, NEW_EVENTS.api_version)
    for key in ("reportingController", "reportingInstance"):
        if not shown.get(key):
            shown.pop(key, None)
    return shown


def _renamed(event: Json, names: dict[str, str], api_version: str) -> Json:
    rest = {names.get(key, key): value for key, value in event.items() if key not in {"kind", "apiVersion"}}
    return {"kind": EVENTS.kind, "apiVersion": api_version, **rest}

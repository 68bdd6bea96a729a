"""Writes the events that kubelets, the scheduler and controllers record.

Shapes: `tests/data/real_node.jsonl`. The kubelet's events carry counts and seconds; the scheduler's are the newer kind
with `eventTime`, an action and a reporting instance.
"""

from refloat_fakekube.core.objects import Json, micro_time_text, text, time_text
from refloat_fakekube.core.play.effects import Record

_NANOS_PER_S = 1_000_000_000


def about(pod: Json, path: str = "") -> Json:
    """`involvedObject` for a pod, or one of its containers."""
    found: Json = {
        "kind": "Pod",
        "namespace": text(pod, "metadata", "namespace"),
        "name": text(pod, "metadata", "name"),
        "uid": text(pod, "metadata", "uid"),
        "apiVersion": "v1",
        "resourceVersion": text(pod, "metadata", "resourceVersion"),
    }
    if path:
        found["fieldPath"] = path
    return found


def _head(involved: Json, now_s: float, serial: int) -> Json:
    name = f"{text(involved, 'name')}.{int(now_s * _NANOS_PER_S) + serial:016x}"
    namespace = text(involved, "namespace") or "default"
    return {"kind": "Event", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace}}


def kubelet_event(involved: Json, record: Record, component: str, host: str, now_s: float, serial: int = 0) -> Json:
    """An event of the older kind; `serial` keeps names of one instant apart."""
    source: Json = {"component": component}
    if host:
        source["host"] = host
    at = time_text(now_s)
    return {
        **_head(involved, now_s, serial),
        "involvedObject": involved,
        "reason": record.reason,
        "message": record.message,
        "source": source,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "type": record.kind,
        "eventTime": None,
        "reportingComponent": component,
        "reportingInstance": host,
    }


def scheduler_event(involved: Json, record: Record, now_s: float, serial: int = 0) -> Json:
    """An event of the newer kind, by the default scheduler."""
    return {
        **_head(involved, now_s, serial),
        "involvedObject": involved,
        "reason": record.reason,
        "message": record.message,
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "type": record.kind,
        "eventTime": micro_time_text(now_s),
        "action": "Binding" if record.reason == "Scheduled" else "Scheduling",
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-fake",
    }

"""Pods in the store: what an update keeps, which fields selectors see, and how long a deletion takes.

Source: `k8s.io/kubernetes/pkg/registry/core/pod/strategy.go`.
"""

from refloat_fakekube.core.kinds.pods.defaults import begin_pod, default_pod
from refloat_fakekube.core.kinds.pods.validation import check_pod, check_pod_status, check_pod_update
from refloat_fakekube.core.kinds.strategy import Strategy, keep_part
from refloat_fakekube.core.objects import Json, ensure, number, objects, section, text

_TERMINAL = ("Failed", "Succeeded")


def _keep_status(new: Json, old: Json) -> None:
    """A status update touches status, labels and annotations only, and never takes an observedGeneration away."""
    keep_part(new, old, "spec")
    metadata = ensure(new, "metadata")
    for field in ("ownerReferences", "deletionTimestamp"):
        keep_part(metadata, section(old, "metadata"), field)
    status = ensure(new, "status")
    if not status.get("qosClass"):
        status["qosClass"] = section(old, "status").get("qosClass")
    if not status.get("observedGeneration") and number(old, "status", "observedGeneration"):
        status["observedGeneration"] = number(old, "status", "observedGeneration")
    for condition in objects(status, "conditions"):
        if not condition.get("observedGeneration"):
            _keep_observed(condition, old)


def _keep_observed(condition: Json, old: Json) -> None:
    for before in objects(old, "status", "conditions"):
        if before.get("type") == condition.get("type") and before.get("observedGeneration"):
            condition["observedGeneration"] = before["observedGeneration"]
            return


def _keep(new: Json, old: Json) -> None:
    """An update leaves the status as it is, and a priority that it does not name (admission plugin Priority)."""
    keep_part(new, old, "status")
    spec = ensure(new, "spec")
    for field in ("priority", "preemptionPolicy"):
        if field not in spec:
            keep_part(spec, section(old, "spec"), field)


def _fields(pod: Json) -> dict[str, str]:
    spec, status = section(pod, "spec"), section(pod, "status")
    return {
        "spec.nodeName": text(spec, "nodeName"),
        "spec.restartPolicy": text(spec, "restartPolicy"),
        "spec.schedulerName": text(spec, "schedulerName"),
        "spec.serviceAccountName": text(spec, "serviceAccountName"),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": text(status, "phase"),
        "status.podIP": text(status, "podIP"),
        "status.podIPs": text(status, "podIP"),
        "status.nominatedNodeName": text(status, "nominatedNodeName"),
    }


def _grace(pod: Json, asked_s: int | None) -> int:
    """Seconds until a first deletion is forced: none for a pod that is on no node or has ended."""
    if not text(pod, "spec", "nodeName") or text(pod, "status", "phase") in _TERMINAL:
        return 0
    wanted = asked_s if asked_s is not None else number(pod, "spec", "terminationGracePeriodSeconds")
    return 1 if (wanted or 0) < 0 else wanted or 0


PODS = Strategy(
    default=default_pod,
    begin=begin_pod,
    check=check_pod,
    check_update=check_pod_update,
    keep=_keep,
    keep_status=_keep_status,
    check_status=check_pod_status,
    fields=_fields,
    field_names=frozenset(_fields({})),
    grace=_grace,
    generation=True,
    returns_deleted=True,
)

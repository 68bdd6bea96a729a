"""The strategy of every resource, by the name of its table."""

from refloat_common.core.quantity import QuantityShapeError, QuantitySuffixError, parse
from refloat_fakekube.core.kinds import causes
from refloat_fakekube.core.kinds.metadata import path_faults
from refloat_fakekube.core.kinds.pods.strategy import PODS
from refloat_fakekube.core.kinds.strategy import Strategy, keep_nothing
from refloat_fakekube.core.objects import Json, JsonValue, ensure, names, number, objects, section, text, texts
from refloat_fakekube.core.refusals import Cause


def _event_fields(event: Json) -> dict[str, str]:
    about = section(event, "involvedObject")
    found = {f"involvedObject.{key}": text(about, key) for key in _ABOUT}
    found["reason"] = text(event, "reason")
    found["type"] = text(event, "type")
    found["reportingComponent"] = text(event, "reportingComponent")
    found["source"] = text(event, "source", "component") or text(event, "reportingComponent")
    return found


_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_EVENT: dict[str, JsonValue] = {
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def _default_event(event: Json) -> None:
    """Fields that the typed object always shows, empty or null."""
    ensure(event, "source")
    for key, value in _EVENT.items():
        event.setdefault(key, value)


def _check_event(event: Json) -> list[Cause]:
    namespace, about = text(event, "metadata", "namespace"), text(event, "involvedObject", "namespace")
    if about == namespace or (not about and namespace in {"default", ""}):
        return []
    return [causes.invalid("involvedObject.namespace", about, "does not match event.namespace")]


_EVENTS = Strategy(
    default=_default_event,
    check=_check_event,
    check_name=path_faults,
    keep=keep_nothing,
    keep_status=keep_nothing,
    fields=_event_fields,
    field_names=frozenset(_event_fields({})),
    creates_on_update=True,
)


def _begin_node(node: Json) -> None:
    """A new node takes nothing before its kubelet, or a controller, has found it ready (TaintNodesByCondition)."""
    spec = ensure(node, "spec")
    taints: list[JsonValue] = [*objects(spec, "taints")]
    if not any(one.get("key") == _NOT_READY for one in objects(spec, "taints")):
        taints.append({"key": _NOT_READY, "effect": "NoSchedule"})
    spec["taints"] = taints


_NOT_READY = "node.kubernetes.io/not-ready"
_NODE_INFO = (
    "architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion",
    "machineID", "operatingSystem", "osImage", "systemUUID",
)  # fmt: skip


def _default_node(node: Json) -> None:
    for key in _NODE_INFO:
        ensure(node, "status", "nodeInfo").setdefault(key, "")
    ensure(node, "status", "daemonEndpoints", "kubeletEndpoint").setdefault("Port", 0)
    for condition in objects(node, "status", "conditions"):
        condition.setdefault("lastHeartbeatTime", None)
        condition.setdefault("lastTransitionTime", None)
    ensure(node, "spec")
    for part in ("capacity", "allocatable"):
        quantities = section(node, "status", part)
        for name, value in texts(node, "status", part).items():
            try:
                quantities[name] = str(parse(value))
            except (QuantityShapeError, QuantitySuffixError):
                continue


_NODES = Strategy(
    begin=_begin_node,
    default=_default_node,
    fields=lambda node: {"spec.unschedulable": "true" if section(node, "spec").get("unschedulable") else "false"},
    field_names=frozenset({"spec.unschedulable"}),
)


def _begin_namespace(namespace: Json) -> None:
    finalizers: list[JsonValue] = [*names(namespace, "spec", "finalizers")]
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    ensure(namespace, "spec")["finalizers"] = finalizers
    namespace["status"] = {"phase": "Active"}
    ensure(namespace, "metadata", "labels")["kubernetes.io/metadata.name"] = text(namespace, "metadata", "name")


def _keep_namespace(new: Json, old: Json) -> None:
    ensure(new, "spec")["finalizers"] = [*names(old, "spec", "finalizers")]
    new["status"] = section(old, "status")


_NAMESPACES = Strategy(
    begin=_begin_namespace,
    keep=_keep_namespace,
    fields=lambda namespace: {"status.phase": text(namespace, "status", "phase")},
    field_names=frozenset({"status.phase"}),
    returns_deleted=True,
)


def _check_lease(lease: Json) -> list[Cause]:
    found: list[Cause] = []
    duration = number(lease, "spec", "leaseDurationSeconds")
    if duration is not None and duration <= 0:
        found.append(causes.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    transitions = number(lease, "spec", "leaseTransitions")
    if transitions is not None and transitions < 0:
        words = "must be greater than or equal to 0"
        found.append(causes.invalid("spec.leaseTransitions", transitions, words))
    return found


_LEASES = Strategy(
    check=_check_lease, keep=keep_nothing, keep_status=keep_nothing, needs_version=True, creates_on_update=True
)
_CONFIG_MAPS = Strategy(keep=keep_nothing, keep_status=keep_nothing)

STRATEGIES: dict[str, Strategy] = {
    "configmaps": _CONFIG_MAPS,
    "events": _EVENTS,
    "leases.coordination.k8s.io": _LEASES,
    "namespaces": _NAMESPACES,
    "nodes": _NODES,
    "pods": PODS,
}
"""By `Resource.id`."""

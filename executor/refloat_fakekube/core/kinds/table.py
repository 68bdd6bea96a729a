"""The strategy of every resource, by the name of its table."""

from refloat_fakekube.core.kinds.metadata import path_faults
from refloat_fakekube.core.kinds.pods.strategy import PODS
from refloat_fakekube.core.kinds.strategy import Strategy, keep_nothing
from refloat_fakekube.core.objects import Json, JsonValue, ensure, names, section, text, texts
from refloat_fakekube.core.quantities import QuantityError, canonical


def _event_fields(event: Json) -> dict[str, str]:
    about = section(event, "involvedObject")
    found = {f"involvedObject.{key}": text(about, key) for key in _ABOUT}
    found["reason"] = text(event, "reason")
    found["type"] = text(event, "type")
    found["reportingComponent"] = text(event, "reportingComponent")
    found["source"] = text(event, "source", "component") or text(event, "reportingComponent")
    return found


_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_EVENTS = Strategy(
    check_name=path_faults,
    keep=keep_nothing,
    keep_status=keep_nothing,
    fields=_event_fields,
    field_names=frozenset(_event_fields({})),
    creates_on_update=True,
)


def _begin_node(node: Json) -> None:
    ensure(node, "spec")
    labels = ensure(node, "metadata", "labels")
    labels.setdefault("kubernetes.io/hostname", text(node, "metadata", "name"))
    _default_node(node)


def _default_node(node: Json) -> None:
    for part in ("capacity", "allocatable"):
        quantities = section(node, "status", part)
        for name, value in texts(node, "status", part).items():
            try:
                quantities[name] = canonical(value)
            except QuantityError:
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

_LEASES = Strategy(keep=keep_nothing, keep_status=keep_nothing, needs_version=True, creates_on_update=True)
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

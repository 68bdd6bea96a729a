"""Puts rows together to a Table (`k8s.io/apimachinery/pkg/apis/meta/v1`, type Table)."""

from collections.abc import Callable, Sequence

from refloat_fakekube.core.objects import Json, JsonValue, decode, section
from refloat_fakekube.core.protocol.tables import kinds, pods

Row = Callable[[Json, float], list[JsonValue]]

PRINTERS: dict[str, tuple[kinds.Columns, Row]] = {
    "configmaps": (kinds.CONFIG_MAPS, kinds.config_map_row),
    "events": (kinds.EVENTS, kinds.event_row),
    "leases.coordination.k8s.io": (kinds.LEASES, kinds.lease_row),
    "namespaces": (kinds.NAMESPACES, kinds.namespace_row),
    "nodes": (kinds.NODES, kinds.node_row),
    "pods": (pods.COLUMNS, pods.pod_row),
}
"""By the name of the store's table."""


def table(printer: str, items: Sequence[bytes], metadata: Json, now_s: float, include: str) -> Json:
    """A Table of objects; `include` is Object, Metadata or None, as the parameter `includeObject`."""
    columns, row = PRINTERS[printer]
    definitions: list[JsonValue] = [
        {"name": name, "type": kind, "format": form, "description": "", "priority": priority}
        for name, kind, form, priority in columns
    ]
    rows: list[JsonValue] = []
    for item in items:
        obj = decode(item)
        rows.append({"cells": row(obj, now_s), "object": _shown(obj, include)})
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _shown(obj: Json, include: str) -> JsonValue:
    if include == "None":
        return None
    if include == "Object":
        return obj
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": section(obj, "metadata")}

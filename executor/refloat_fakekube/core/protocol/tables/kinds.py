"""The other kinds as rows: nodes, events, namespaces, leases, config maps.

Source: `k8s.io/kubernetes/pkg/printers/internalversion/printers.go`.
"""

from refloat_fakekube.core.objects import Json, JsonValue, number, objects, section, text, texts
from refloat_fakekube.core.protocol.tables.ages import age

Columns = tuple[tuple[str, str, str, int], ...]
"""Name, type, format, priority (0: always shown, 1: with `-o wide`)."""

_NONE = "<none>"
_NAME = ("Name", "string", "name", 0)
_AGE = ("Age", "string", "", 0)
_ROLE = "node-role.kubernetes.io/"

NODES: Columns = (
    _NAME,
    ("Status", "string", "", 0),
    ("Roles", "string", "", 0),
    _AGE,
    ("Version", "string", "", 0),
    ("Internal-IP", "string", "", 1),
    ("External-IP", "string", "", 1),
    ("OS-Image", "string", "", 1),
    ("Kernel-Version", "string", "", 1),
    ("Container-Runtime", "string", "", 1),
)
EVENTS: Columns = (
    ("Last Seen", "string", "", 0),
    ("Type", "string", "", 0),
    ("Reason", "string", "", 0),
    ("Object", "string", "", 0),
    ("Subobject", "string", "", 1),
    ("Source", "string", "", 1),
    ("Message", "string", "", 0),
    ("First Seen", "string", "", 1),
    ("Count", "string", "", 1),
    ("Name", "string", "name", 1),
)
NAMESPACES: Columns = (_NAME, ("Status", "string", "", 0), _AGE)
LEASES: Columns = (_NAME, ("Holder", "string", "", 0), _AGE)
CONFIG_MAPS: Columns = (_NAME, ("Data", "string", "", 0), _AGE)


def _name(obj: Json) -> str:
    return text(obj, "metadata", "name")


def _age(obj: Json, now_s: float) -> str:
    return age(text(obj, "metadata", "creationTimestamp"), now_s)


def node_row(node: Json, now_s: float) -> list[JsonValue]:
    """The cells of a node."""
    status = next((one for one in objects(node, "status", "conditions") if one.get("type") == "Ready"), {})
    words = {"True": "Ready", "": "Unknown"}.get(text(status, "status"), "NotReady")
    if section(node, "spec").get("unschedulable"):
        words += ",SchedulingDisabled"
    labels = texts(node, "metadata", "labels")
    roles = sorted(label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE))
    addresses = {text(one, "type"): text(one, "address") for one in objects(node, "status", "addresses")}
    info = section(node, "status", "nodeInfo")
    shown = [text(info, key) or "<unknown>" for key in ("osImage", "kernelVersion", "containerRuntimeVersion")]
    return [
        _name(node),
        words,
        ",".join(roles) or _NONE,
        _age(node, now_s),
        text(info, "kubeletVersion"),
        addresses.get("InternalIP", _NONE),
        addresses.get("ExternalIP", _NONE),
        *shown,
    ]


def event_row(event: Json, now_s: float) -> list[JsonValue]:
    """The cells of an event."""
    about = section(event, "involvedObject")
    first = text(event, "firstTimestamp") or text(event, "eventTime")
    last = text(event, "series", "lastObservedTime") or text(event, "lastTimestamp") or first
    source = [text(event, "source", "component") or text(event, "reportingComponent"), text(event, "source", "host")]
    kind = text(about, "kind").lower()
    return [
        age(last, now_s),
        text(event, "type"),
        text(event, "reason"),
        f"{kind}/{text(about, 'name')}" if text(about, "name") else kind,
        text(about, "fieldPath"),
        ", ".join(part for part in source if part),
        text(event, "message").strip(),
        age(first, now_s),
        number(event, "series", "count") or number(event, "count") or 1,
        _name(event),
    ]


def namespace_row(namespace: Json, now_s: float) -> list[JsonValue]:
    """The cells of a namespace."""
    return [_name(namespace), text(namespace, "status", "phase"), _age(namespace, now_s)]


def lease_row(lease: Json, now_s: float) -> list[JsonValue]:
    """The cells of a lease."""
    return [_name(lease), text(lease, "spec", "holderIdentity"), _age(lease, now_s)]


def config_map_row(config_map: Json, now_s: float) -> list[JsonValue]:
    """The cells of a config map."""
    count = len(section(config_map, "data")) + len(section(config_map, "binaryData"))
    return [_name(config_map), count, _age(config_map, now_s)]

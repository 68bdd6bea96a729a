"""The set of fields that an applied configuration names, in and out of `managedFields` (`FieldsV1`).

A field is a path of steps as `FieldsV1` writes them: `f:spec`, `k:{"name":"main"}`, `v:"example.com/hold"`.
Source: `sigs.k8s.io/structured-merge-diff/fieldpath`.
"""

from typing import TypeAlias

from refloat_fakekube.core.objects import Json, JsonValue, decode, encode, section
from refloat_fakekube.core.patches.lists import MERGE_KEYS, MERGED_SETS

Path: TypeAlias = tuple[str, ...]

_IDENTITY: frozenset[Path] = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"), ("f:metadata", "f:namespace")}
)


def named_fields(config: Json) -> set[Path]:
    """Every leaf and every list item that a configuration names, without its identity."""
    found: set[Path] = set()
    _collect(config, "", (), found)
    return {path for path in found if path not in _IDENTITY and path != ("f:metadata",)}


def _collect(value: JsonValue, name: str, path: Path, found: set[Path]) -> None:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            _collect(inner, key, (*path, f"f:{key}"), found)
    elif isinstance(value, list) and name in MERGE_KEYS:
        for item in value:
            if isinstance(item, dict):
                step = item_step(name, item)
                found.add((*path, step, "."))
                _collect(item, "", (*path, step), found)
    elif isinstance(value, list) and name in MERGED_SETS:
        found.update((*path, f"v:{encode(item).decode()}") for item in value)
    else:
        found.add(path)


def item_step(name: str, item: Json) -> str:
    """The step that names an item of a keyed list."""
    key: Json = {MERGE_KEYS[name]: item.get(MERGE_KEYS[name])}
    if name == "ports":
        key["protocol"] = item.get("protocol", "TCP")
    return f"k:{encode(key).decode()}"


def to_fields(paths: set[Path]) -> Json:
    """The set as `fieldsV1`."""
    root: Json = {}
    for path in sorted(paths):
        at = root
        for step in path:
            inner = at.setdefault(step, {})
            at = inner if isinstance(inner, dict) else {}
    return root


def from_fields(fields: Json) -> set[Path]:
    """The set that `fieldsV1` says."""
    found: set[Path] = set()
    for step, inner in fields.items():
        deeper = from_fields(inner) if isinstance(inner, dict) and inner else {()}
        found.update((step, *path) for path in deeper)
    return found


def look_up(obj: Json, path: Path) -> JsonValue:
    """The value at a path, or None."""
    at: JsonValue = obj
    name = ""
    for step in path:
        if step == ".":
            return True
        if step.startswith("f:"):
            name = step[2:]
            at = at.get(name) if isinstance(at, dict) else None
        elif step.startswith("v:"):
            return (isinstance(at, list) and any(f"v:{encode(item).decode()}" == step for item in at)) or None
        else:
            at = _item(at, name, step)
    return at


def _item(value: JsonValue, name: str, step: str) -> JsonValue:
    items = value if isinstance(value, list) else []
    return next((item for item in items if isinstance(item, dict) and item_step(name, item) == step), None)


def drop(obj: Json, path: Path) -> None:
    """Take the field away; a list item goes with its `.`."""
    steps = [step for step in path if step != "."]
    if not steps:
        return
    parent = look_up(obj, tuple(steps[:-1])) if len(steps) > 1 else obj
    last = steps[-1]
    if isinstance(parent, dict) and last.startswith("f:"):
        parent.pop(last[2:], None)
    elif isinstance(parent, list):
        name = steps[-2][2:]
        parent[:] = [item for item in parent if not _is(item, name, last)]


def _is(item: JsonValue, name: str, step: str) -> bool:
    if step.startswith("v:"):
        return f"v:{encode(item).decode()}" == step
    return isinstance(item, dict) and item_step(name, item) == step


def shown(path: Path) -> str:
    """The path in an error message: `.spec.containers[name="main"].image`."""
    words = ""
    for step in path:
        if step.startswith("f:"):
            words += f".{step[2:]}"
        elif step.startswith("k:"):
            pairs = section({"key": decode(step[2:].encode())}, "key")
            words += "[" + ",".join(f"{key}={encode(value).decode()}" for key, value in pairs.items()) + "]"
    return words

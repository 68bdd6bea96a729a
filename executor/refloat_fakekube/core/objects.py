"""Reads and writes Kubernetes objects as plain JSON: decoding, encoding, paths into an object, and times as text.

A decoded object belongs to whoever decoded it and may be changed in place; what the store keeps are bytes.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias, cast

import msgspec

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"
"""Anything that JSON can say."""

Json: TypeAlias = dict[str, JsonValue]
"""A JSON object."""

_MICROS_PER_S = 1_000_000


class NotAnObjectError(ValueError):
    """The text is not JSON, or is JSON but not an object."""

    def __init__(self, why: str) -> None:
        super().__init__(f"expected a JSON object: {why}")


def decode(data: bytes | memoryview) -> Json:
    """The object that `data` holds.

    Raises:
        NotAnObjectError: `data` is not one JSON object in UTF-8.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotAnObjectError(str(error)) from error
    if not isinstance(value, dict):
        raise NotAnObjectError(f"got {type(value).__name__}")
    return cast("Json", value)


def encode(value: JsonValue) -> bytes:
    """`value` as compact JSON, keys in the order they were put in."""
    return msgspec.json.encode(value)


def clone(value: Json) -> Json:
    """A deep copy of an object."""
    return cast("Json", _clone(value))


def _clone(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _clone(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clone(inner) for inner in value]
    return value


def drop_nulls(value: JsonValue) -> None:
    """Take every key that is null away, in place, as a decoder of typed objects would."""
    if isinstance(value, dict):
        for key in [key for key, inner in value.items() if inner is None]:
            del value[key]
        for inner in value.values():
            drop_nulls(inner)
    elif isinstance(value, list):
        for inner in value:
            drop_nulls(inner)


def section(obj: Json, *path: str) -> Json:
    """The object at `path`, or a fresh empty one that is not part of `obj`."""
    at: JsonValue = obj
    for name in path:
        at = at.get(name) if isinstance(at, dict) else None
    return at if isinstance(at, dict) else {}


def ensure(obj: Json, *path: str) -> Json:
    """The object at `path`, put there when it is missing or is not an object."""
    at = obj
    for name in path:
        inner = at.get(name)
        if not isinstance(inner, dict):
            inner = {}
            at[name] = inner
        at = inner
    return at


def text(obj: Json, *path: str) -> str:
    """The text at `path`, or the empty text."""
    value = section(obj, *path[:-1]).get(path[-1])
    return value if isinstance(value, str) else ""


def number(obj: Json, *path: str) -> int | None:
    """The whole number at `path`, or None."""
    value = section(obj, *path[:-1]).get(path[-1])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def objects(obj: Json, *path: str) -> list[Json]:
    """The objects in the list at `path`; what is no object is left out."""
    value = section(obj, *path[:-1]).get(path[-1])
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(obj: Json, *path: str) -> dict[str, str]:
    """The map of text to text at `path`: labels, annotations, selectors, quantities."""
    found = section(obj, *path)
    return {key: value if isinstance(value, str) else "" for key, value in found.items()}


def names(obj: Json, *path: str) -> list[str]:
    """The list of texts at `path`: finalizers, arguments."""
    value = section(obj, *path[:-1]).get(path[-1])
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def named(items: Iterator[Json] | list[Json], name: str, *, by: str = "name") -> Json | None:
    """The first object whose key `by` is `name`."""
    return next((item for item in items if item.get(by) == name), None)


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")


def time_text(now_s: float) -> str:
    """Seconds since 1970 as `metav1.Time`: RFC 3339 in UTC, whole seconds."""
    return _second(math.floor(now_s)) + "Z"


def micro_time_text(now_s: float) -> str:
    """Seconds since 1970 as `metav1.MicroTime`: RFC 3339 in UTC with six decimals."""
    second, micros = divmod(round(now_s * _MICROS_PER_S), _MICROS_PER_S)
    return f"{_second(second)}.{micros:06d}Z"


def time_s(value: str) -> float:
    """RFC 3339 text as seconds since 1970.

    Raises:
        ValueError: the text is no such time.
    """
    return datetime.fromisoformat(value).timestamp()

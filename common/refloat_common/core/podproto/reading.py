"""Reads Kubernetes JSON into a Kubernetes message; what has no place there is refused, never dropped."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from google.protobuf.message import Message

from refloat_common.core import quantity
from refloat_common.core.jsontypes import JsonValue
from refloat_common.core.podproto.errors import KubernetesFormError, join
from refloat_common.core.podproto.fields import Form, Slot, layout_of
from refloat_common.core.podproto.times import time_seconds


def fill(message: Message, value: JsonValue, path: str = "") -> None:
    """Read a JSON object into an empty message such as `PodSpec`. A null counts as not written.

    Args:
        message: receives what the object says.
        value: the object, as a JSON or YAML decoder returned it.
        path: where the object itself stands, for errors.

    Raises:
        KubernetesFormError: an unknown key, or a value of the wrong type or form.
    """
    if not isinstance(value, Mapping):
        raise KubernetesFormError(path, value, "must be an object")
    keys = layout_of(message.DESCRIPTOR).keys
    for key, item in value.items():
        if key not in keys:
            raise KubernetesFormError(join(path, str(key)), item, f"stands under a key that {_kind(message)} has not")
        if item is None:
            continue
        steps, slot = keys[key]
        owner = message
        for step in steps:
            owner = getattr(owner, step)
        _field(owner, slot, item, join(path, key))


def _kind(message: Message) -> str:
    return f"the Kubernetes object {message.DESCRIPTOR.name}"


def _field(owner: Message, slot: Slot, value: JsonValue, path: str) -> None:
    if slot.is_map:
        _map(getattr(owner, slot.name), slot, value, path)
    elif slot.repeated:
        _list(getattr(owner, slot.name), slot, value, path)
    elif slot.form is Form.SCALAR:
        setattr(owner, slot.name, _scalar(slot, value, path))
    else:
        child: Message = getattr(owner, slot.name)
        child.SetInParent()
        _READERS[slot.form](child, value, path)


def _map(target: Any, slot: Slot, value: JsonValue, path: str) -> None:
    if not isinstance(value, Mapping):
        raise KubernetesFormError(path, value, "must be an object")
    for key, item in value.items():
        at = f"{path}[{key}]"
        _text(key, path)
        if slot.form is Form.SCALAR:
            target[key] = _scalar(slot, item, at)
        else:
            _READERS[slot.form](target[key], item, at)


def _list(target: Any, slot: Slot, value: JsonValue, path: str) -> None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise KubernetesFormError(path, value, "must be a list")
    for i, item in enumerate(value):
        at = f"{path}[{i}]"
        if slot.form is Form.SCALAR:
            target.append(_scalar(slot, item, at))
        else:
            _READERS[slot.form](target.add(), item, at)


def _scalar(slot: Slot, value: JsonValue, path: str) -> bool | int | str:
    if slot.is_flag:
        if not isinstance(value, bool):
            raise KubernetesFormError(path, value, "must be true or false")
        return value
    if slot.bounds is not None:
        return _whole(value, slot.bounds, path)
    return _text(value, path)


def _whole(value: JsonValue, bounds: tuple[int, int], path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise KubernetesFormError(path, value, "must be a whole number")
    if not bounds[0] <= value <= bounds[1]:
        raise KubernetesFormError(path, value, f"must be between {bounds[0]} and {bounds[1]}")
    return value


def _text(value: JsonValue, path: str) -> str:
    if not isinstance(value, str):
        raise KubernetesFormError(path, value, "must be a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise KubernetesFormError(path, value, "is no valid Unicode") from None
    return value


def _quantity(message: Any, value: JsonValue, path: str) -> None:
    """A quantity; like an API server, a bare number is taken too."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise KubernetesFormError(path, value, "must be a quantity such as 500m or 2Gi")
    try:
        quantity.parse(str(value))
    except ValueError as error:
        raise KubernetesFormError(path, value, f"is no quantity: {error}") from None
    message.string = str(value)


def _int_or_string(message: Any, value: JsonValue, path: str) -> None:
    if isinstance(value, str):
        message.type, message.strVal = 1, _text(value, path)
    else:
        message.type, message.intVal = 0, _whole(value, (-(1 << 31), (1 << 31) - 1), path)


def _time(message: Any, value: JsonValue, path: str) -> None:
    text = _text(value, path)
    try:
        message.seconds = time_seconds(text)
    except ValueError as error:
        raise KubernetesFormError(path, value, f"is no time such as 2026-01-31T08:00:00Z: {error}") from None


def _raw(message: Any, value: JsonValue, path: str) -> None:
    try:
        message.Raw = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise KubernetesFormError(path, type(value).__name__, f"is no JSON: {error}") from None


_READERS: Final[Mapping[Form, Callable[[Any, JsonValue, str], None]]] = {
    Form.OBJECT: fill,
    Form.QUANTITY: _quantity,
    Form.INT_OR_STRING: _int_or_string,
    Form.TIME: _time,
    Form.RAW: _raw,
}

"""Writes a Kubernetes message as Kubernetes JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from google.protobuf.message import Message

from refloat_common.core import quantity
from refloat_common.core.jsontypes import JsonValue
from refloat_common.core.podproto.errors import KubernetesFormError, join
from refloat_common.core.podproto.fields import Form, Slot, layout_of
from refloat_common.core.podproto.times import time_text


def to_json(message: Message, path: str = "") -> dict[str, JsonValue]:
    """The JSON form of a message such as `PodSpec`: only what it says, maps in the order of their keys.

    Args:
        message: any message of Kubernetes' API.
        path: where the message itself stands, for errors.

    Raises:
        KubernetesFormError: a quantity, a time, a port or raw JSON that is none.
    """
    body: dict[str, JsonValue] = {}
    _write(body, message, path)
    return body


def _write(body: dict[str, JsonValue], message: Message, path: str) -> None:
    slots = layout_of(message.DESCRIPTOR).slots
    for field, value in message.ListFields():
        slot = slots[field.name]
        if slot.inlined:
            _write(body, value, path)
            continue
        written = _field(slot, value, join(path, slot.name))
        if written or (slot.keeps_zero and written is not None):
            body[slot.name] = written


def _field(slot: Slot, value: object, path: str) -> JsonValue:
    one = _WRITERS[slot.form]
    if slot.is_map:
        assert isinstance(value, Mapping)
        listed = _listed_quantity if slot.form is Form.QUANTITY else one
        return {key: listed(value[key], f"{path}[{key}]") for key in sorted(value)}
    if slot.repeated:
        assert isinstance(value, Sequence)
        return [one(item, f"{path}[{i}]") for i, item in enumerate(value)]
    return one(value, path)


def _scalar(value: object, _: str) -> JsonValue:
    assert isinstance(value, bool | int | float | str)
    return value


def _object(value: object, path: str) -> JsonValue:
    assert isinstance(value, Message)
    return to_json(value, path)


def _quantity(value: object, path: str) -> JsonValue:
    """A quantity's text as it was given; an empty one is what Go's zero quantity is."""
    text: str = getattr(value, "string", "")
    try:
        quantity.parse(text or "0")
    except ValueError as error:
        raise KubernetesFormError(path, text, f"is no quantity: {error}") from None
    return text or None


def _listed_quantity(value: object, path: str) -> JsonValue:
    return _quantity(value, path) or "0"


def _int_or_string(value: object, path: str) -> JsonValue:
    """A number or a name. A text without a type counts as a name: clients in Python forget the type."""
    kind, number, text = (getattr(value, name) for name in ("type", "intVal", "strVal"))
    if kind not in (0, 1):
        raise KubernetesFormError(join(path, "type"), kind, "is neither 0, a number, nor 1, a name")
    named: bool = kind == 1 or (isinstance(value, Message) and not value.HasField("type") and bool(text))
    return str(text) if named else int(number)


def _time(value: object, path: str) -> JsonValue:
    seconds: int = getattr(value, "seconds", 0)
    nanos: int = getattr(value, "nanos", 0)
    if not seconds and not nanos:
        return None
    try:
        return time_text(seconds)
    except ValueError as error:
        raise KubernetesFormError(path, seconds, str(error)) from None


def _raw(value: object, path: str) -> JsonValue:
    raw: bytes = getattr(value, "Raw", b"")
    try:
        decoded: JsonValue = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        raise KubernetesFormError(path, raw[:80], f"is no JSON: {error}") from None
    return decoded


_WRITERS: Final[Mapping[Form, Callable[[object, str], JsonValue]]] = {
    Form.SCALAR: _scalar,
    Form.OBJECT: _object,
    Form.QUANTITY: _quantity,
    Form.INT_OR_STRING: _int_or_string,
    Form.TIME: _time,
    Form.RAW: _raw,
}

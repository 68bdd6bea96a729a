"""Draws Kubernetes messages of any type from their descriptors, in protobuf's own terms: no table of the product."""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st

MAX_FIELDS = 4
MAX_ITEMS = 2
MAX_DEPTH = 8
QUANTITY_TEXTS = ("1", "500m", "2Gi", "1.5Gi", "0", "1e3", "100u", "12E", "-3k")
RAW_JSON = (b"{}", b'{"f:spec":{"f:containers":{}}}', b'{"a":[1,null,"x"]}')
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
WHOLE = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, (1 << 32) - 1),
}


class Drawer:
    """Fills messages. `zeros`: scalars may be zero and messages empty, as a Go client sends them."""

    def __init__(self, draw: st.DrawFn, *, zeros: bool) -> None:
        self._draw = draw
        self._zeros = zeros

    def fill(self, message: Any, depth: int = 0) -> None:
        """Set some fields of a message, at least one unless zeros are wanted."""
        special = getattr(self, f"_{message.DESCRIPTOR.name}", None)
        if special is not None:
            special(message)
            return
        fields = [field for field in message.DESCRIPTOR.fields if depth < MAX_DEPTH or field.message_type is None]
        least = 0 if self._zeros or not fields else 1
        for field in self._draw(st.lists(st.sampled_from(fields), min_size=least, max_size=MAX_FIELDS, unique=True)):
            self._field(message, field, depth)

    def _field(self, message: Any, field: FieldDescriptor, depth: int) -> None:
        kind = field.message_type
        if kind is not None and kind.GetOptions().map_entry:
            self._entries(getattr(message, field.name), kind.fields_by_name["value"], depth)
        elif field.is_repeated:
            self._items(getattr(message, field.name), field, depth)
        elif kind is None:
            setattr(message, field.name, self._scalar(field))
        else:
            child = getattr(message, field.name)
            child.SetInParent()
            self.fill(child, depth + 1)

    def _entries(self, entries: Any, value: FieldDescriptor, depth: int) -> None:
        for key in self._draw(st.lists(TEXTS, min_size=1, max_size=MAX_ITEMS, unique=True)):
            if value.message_type is None:
                entries[key] = self._scalar(value)
            else:
                self.fill(entries[key], depth + 1)

    def _items(self, items: Any, field: FieldDescriptor, depth: int) -> None:
        for _ in range(self._draw(st.integers(1, MAX_ITEMS))):
            if field.message_type is None:
                items.append(self._scalar(field))
            else:
                self.fill(items.add(), depth + 1)

    def _scalar(self, field: FieldDescriptor) -> bool | int | float | str:
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            return self._draw(st.booleans()) if self._zeros else True
        if field.cpp_type in WHOLE:
            number = WHOLE[field.cpp_type]
            return self._draw(number if self._zeros else number.filter(bool))
        if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
            return self._draw(st.floats(0.5, 1e12, allow_nan=False))
        if field.enum_type is not None:
            return self._draw(st.sampled_from(sorted(field.enum_type.values_by_number)))
        assert field.cpp_type == FieldDescriptor.CPPTYPE_STRING
        return self._draw(st.just("") | TEXTS if self._zeros else TEXTS)

    def _Quantity(self, message: Any) -> None:  # noqa: N802  named like the message
        message.string = self._draw(st.sampled_from(QUANTITY_TEXTS))

    def _IntOrString(self, message: Any) -> None:  # noqa: N802  named like the message
        value = self._draw(WHOLE[FieldDescriptor.CPPTYPE_INT32] | TEXTS)
        if isinstance(value, int):
            message.type, message.intVal = 0, value
        else:
            message.type, message.strVal = 1, value

    def _Time(self, message: Any) -> None:  # noqa: N802  named like the message
        message.seconds = self._draw(st.integers(-62_135_596_800, 253_402_300_799).filter(bool))

    def _FieldsV1(self, message: Any) -> None:  # noqa: N802  named like the message
        message.Raw = self._draw(st.sampled_from(RAW_JSON))


@st.composite
def messages(draw: st.DrawFn, kind: type[Message], *, zeros: bool) -> Message:
    """A message of the given type."""
    message = kind()
    Drawer(draw, zeros=zeros).fill(message)
    return message

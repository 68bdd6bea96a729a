"""Reads a YAML or JSON text into a JSON value, as strictly as Armada's command line.

Only the first document of a text counts. A key that is written twice is refused, also where `<<` brings it a second
time; keys in different case are different keys here. Keys come out in their order by code point, because the last
spelling of a field wins in Go, which sorts them so.
"""

import base64
import binascii
import math
from collections.abc import Iterator
from typing import Final

import yaml

from refloat_common.core.jsontypes import JsonValue
from refloat_ctl.core.text.scalars import MERGE, as_json_number, plain_value

MAX_DEPTH = 100
MAX_VALUES = 100_000
"""Values in a text, counted where aliases repeat them: a small text can stand for a huge one."""

_TAG = "tag:yaml.org,2002:"
# libyaml reads as Go's port of it does; the reader in Python, its stand-in, takes no tab between brackets.
_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class TextError(ValueError):
    """A text that is no YAML, or YAML that no JSON can stand for.

    `line` counts from 1, 0 where none is at fault; `key` is the key it is about, if it is about one.
    """

    def __init__(self, problem: str, line: int = 0, key: str = "") -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.problem = problem
        self.line = line
        self.key = key


def read_text(text: str) -> JsonValue:
    """The first document of a text; an empty text is None.

    Raises:
        TextError: it can't be read.
    """
    try:
        return _Reader(text).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise TextError(error.problem or "is not YAML", mark.line + 1 if mark else 0) from None
    except yaml.reader.ReaderError as error:
        raise TextError(f"{error.reason}", text.count("\n", 0, error.position) + 1) from None


class _Reader:
    """One reading: the events of the text, and what its anchors stand for."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
        self._anchors: dict[str, tuple[JsonValue, int]] = {}
        self._count = 0
        self._depth = 0

    def document(self) -> JsonValue:
        """The first document."""
        for event in self._events:
            if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                break
        else:  # pragma: no cover  # a stream always ends in an event of its own
            return None
        return None if isinstance(event, yaml.StreamEndEvent) else self._value(event)

    def _value(self, event: yaml.Event) -> JsonValue:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._count
        self._add(1, event)
        value = self._content(event)
        anchor: str | None = getattr(event, "anchor", None)
        if anchor:
            self._anchors[anchor] = (value, self._count - before)
        return value

    def _content(self, event: yaml.Event) -> JsonValue:
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TextError(f"is nested deeper than {MAX_DEPTH}", _line(event))
        value = self._list() if isinstance(event, yaml.SequenceStartEvent) else self._map()
        self._depth -= 1
        return value

    def _list(self) -> JsonValue:
        items: list[JsonValue] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event))
        return items

    def _map(self) -> JsonValue:
        values: dict[str, JsonValue] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line = _line(event)
            if isinstance(event, yaml.ScalarEvent) and _is_merge(event):
                for key, value in _merged(self._value(next(self._events)), line):
                    _put(values, key, value, line)
            else:
                key = _key(self._value(event), line)
                _put(values, key, self._value(next(self._events)), line)
        return dict(sorted(values.items()))

    def _alias(self, event: yaml.AliasEvent) -> JsonValue:
        if event.anchor not in self._anchors:
            raise TextError(f"the alias *{event.anchor} names nothing that stands before it", _line(event))
        value, size = self._anchors[event.anchor]
        self._add(size, event)
        return value

    def _add(self, size: int, event: yaml.Event) -> None:
        self._count += size
        if self._count > MAX_VALUES:
            raise TextError(f"stands for more than {MAX_VALUES} values", _line(event))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _put(values: dict[str, JsonValue], key: str, value: JsonValue, line: int) -> None:
    if key in values:
        raise TextError(f'key "{key}" is written twice', line, key)
    values[key] = value


def _key(value: JsonValue, line: int) -> str:
    """A key as JSON has it: numbers and truth values become texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    raise TextError(f"{'null' if value is None else 'a list or a map'} can't be a key", line)


def _is_merge(event: yaml.ScalarEvent) -> bool:
    return event.value == MERGE and (event.implicit[0] or event.tag == _TAG + "merge")


def _merged(value: JsonValue, line: int) -> Iterator[tuple[str, JsonValue]]:
    """The keys and values that `<<` brings."""
    maps = value if isinstance(value, list) else [value]
    for each in maps:
        if not isinstance(each, dict):
            raise TextError("<< takes a map or a list of maps", line, MERGE)
        yield from each.items()


def _scalar(event: yaml.ScalarEvent) -> JsonValue:
    text, tag = event.value, event.tag or ""
    if event.implicit[0] and tag in ("", "!"):
        value = plain_value(text)
    elif tag in ("", "!", _TAG + "str") or not tag.startswith(_TAG):
        return text
    else:
        value = _tagged(text, tag.removeprefix(_TAG), _line(event))
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise TextError(f"{text} is not a finite number", _line(event))
    return as_json_number(value)


_TAGGED: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,), "int": (int,), "float": (float, int), "null": (type(None),), "timestamp": (str,)
}  # fmt: skip


def _tagged(text: str, tag: str, line: int) -> JsonValue:
    """A scalar whose kind is written before it."""
    problem = f'"{text[:80]}" is no !!{tag}'
    if tag == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode()
        except (binascii.Error, ValueError):
            raise TextError(problem, line) from None
    value = plain_value(text)
    if tag not in _TAGGED or not isinstance(value, _TAGGED[tag]) or (tag != "bool" and isinstance(value, bool)):
        raise TextError(problem, line)
    return value

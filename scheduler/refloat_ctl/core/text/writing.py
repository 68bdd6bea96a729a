"""Writes a JSON value as YAML as Go's `yaml.v2` does, byte for byte: keys sorted, lists not indented, few quotes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

import yaml

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.core.text.scalars import reads_as_text

# libyaml writes as Go's port of it does.
_DUMPER: Final = yaml.CSafeDumper if yaml.__with_libyaml__ else yaml.SafeDumper
_MIN_PLAIN_POWER, _MIN_LONG_POWER = -4, 6
"""Go's shortest form uses an exponent below 1e-4 and from 1e6 on, however few digits that would take."""


def write_yaml(value: JsonValue) -> str:
    """The YAML text of a value, with a line feed at its end."""
    start = (yaml.StreamStartEvent(), yaml.DocumentStartEvent(explicit=False))
    end = (yaml.DocumentEndEvent(explicit=False), yaml.StreamEndEvent())
    text: str = yaml.emit((*start, *_events(value), *end), Dumper=_DUMPER, allow_unicode=True)
    return text.removesuffix("...\n")


def write_document(head: JsonObject, body: JsonObject) -> str:
    """The YAML text of two maps, one after the other: the head keeps its place before what is sorted behind it."""
    return write_yaml(head) + (write_yaml(body) if body else "")


def _events(value: JsonValue) -> Iterator[yaml.Event]:
    """What the emitter is told; no value carries a tag."""
    if isinstance(value, Mapping):
        yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=not value)
        for key in sorted(value):
            yield from _events(key)
            yield from _events(value[key])
        yield yaml.MappingEndEvent()
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=not value)
        for item in value:
            yield from _events(item)
        yield yaml.SequenceEndEvent()
    elif isinstance(value, str):
        yield yaml.ScalarEvent(None, None, (True, True), value, style=_style(value))
    else:
        yield yaml.ScalarEvent(None, None, (True, True), _plain(value))


def _style(text: str) -> str | None:
    if "\n" in text:
        return "|"
    return None if reads_as_text(text) else '"'


def _plain(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return go_float(value) if isinstance(value, float) else str(value)


def go_float(value: float) -> str:
    """A number in Go's shortest form (`strconv.FormatFloat` with `g`): 1.5, 1e+06, 1e-07."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = len(digits) - 1 + exponent
    if _MIN_PLAIN_POWER <= power < _MIN_LONG_POWER:
        return f"{'-' if sign else ''}{abs(Decimal(repr(value)).normalize()):f}"
    figures = "".join(map(str, digits))
    fraction = f".{figures[1:]}" if figures[1:] else ""
    return f"{'-' if sign else ''}{figures[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"

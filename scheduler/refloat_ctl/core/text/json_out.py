"""Writes JSON: for a reader, indented; for a line of the raw event stream, as Go's `encoding/json` does."""

import json
from collections.abc import Sequence
from typing import Final

from refloat_common.core.jsontypes import JsonValue

_NOT_IN_HTML: Final = (*"<>&", "\u2028", "\u2029")
_NOT_IN_YAML: Final = (*map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff")


def _escapes(characters: Sequence[str]) -> dict[int, str]:
    return {ord(character): f"\\u{ord(character):04x}" for character in characters}


_FOR_HTML: Final = _escapes(_NOT_IN_HTML)
_FOR_YAML: Final = _escapes(_NOT_IN_YAML)


def write_json(value: JsonValue) -> str:
    """The JSON text of a value, with a line feed at its end. It is YAML too, so that `create -f` takes it again."""
    return json.dumps(value, indent=2, ensure_ascii=False).translate(_FOR_YAML) + "\n"


def go_json(value: JsonValue) -> str:
    """One line of JSON as Go writes it: no spaces, and what HTML would misread escaped."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_FOR_HTML)

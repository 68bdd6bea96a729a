"""Writes JSON: for a reader, indented; for a line of the raw event stream, as Go's `encoding/json` does."""

import json
from typing import Final

from refloat_common.core.jsontypes import JsonValue

_ESCAPED: Final = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)


def write_json(value: JsonValue) -> str:
    """The JSON text of a value, with a line feed at its end."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def go_json(value: JsonValue) -> str:
    """One line of JSON as Go writes it: no spaces, and what HTML would misread escaped."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_ESCAPED)

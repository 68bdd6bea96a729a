"""Decides what a plain YAML scalar stands for: the rules of Go's `yaml.v2`, which Armada's command line reads with.

They are YAML 1.1's: `yes`, `on` and `y` are true, `017` is 15. The writer asks the same rules which texts need quotes.
Settings files follow another dialect (see `refloat_common.adapters.config_files`).
"""

import math
import re
from datetime import datetime
from typing import Final

from refloat_common.core.jsontypes import JsonValue

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NOT_FINITE: Final[dict[str, float]] = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
MERGE: Final = "<<"
"""An unquoted key that brings in the keys of another map."""

_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_INT = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt ]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.[0-9]*)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_INT64_MIN, _UINT64_MAX = -(1 << 63), (1 << 64) - 1
_FIRST_LONG_NUMBER: Final = 1e21
"""From here on Go's JSON writes a number with an exponent, which no whole number may have there."""


def plain_value(text: str) -> JsonValue:
    """What an unquoted scalar without a tag stands for; dates are texts. May be a number that is not finite."""
    if text in _WORDS:
        return _WORDS[text]
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    if text[0] not in _NUMBER_STARTS or is_date(text):
        return text
    digits = text if text.startswith(".") else text.replace("_", "")
    whole = _whole(digits)
    if whole is not None:
        return whole
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return text if math.isinf(number) else number
    return text


def as_json_number(value: float) -> int | float:
    """A number as it looks after Go has written it as JSON and read it again: 3.0 is 3, but -0.0 is no whole number."""
    negative_zero = value == 0 and math.copysign(1, value) < 0
    whole = value.is_integer() and abs(value) < _FIRST_LONG_NUMBER and not negative_zero
    return int(value) if whole else value


def reads_as_text(text: str) -> bool:
    """Whether a text may stand unquoted without being taken for something else."""
    return plain_value(text) is text and text != MERGE and not is_date(text) and not _BASE_60.fullmatch(text)


def is_date(text: str) -> bool:
    """Whether Go's library takes an unquoted text for a point in time."""
    found = _DATE.fullmatch(text)
    if not found:
        return False
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups())
    try:
        datetime(year, month, day, hour, minute, second)  # noqa: DTZ001  only asked whether there is such a time
    except ValueError:
        return False
    return True


def _whole(digits: str) -> int | None:
    found = _INT.fullmatch(digits)
    if not found:
        return None
    sign, hexadecimal, binary, octal, decimal = found.groups()
    if hexadecimal:
        size = int(hexadecimal, 16)
    elif binary:
        size = int(binary, 2)
    else:
        size = int(octal, 8) if octal else int(decimal)
    value = -size if sign == "-" else size
    highest = _UINT64_MAX if not sign else (1 << 63) - 1
    return value if _INT64_MIN <= value <= highest else None

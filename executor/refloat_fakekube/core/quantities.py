"""Parses and writes Kubernetes quantities exactly, in the canonical form that the API server stores.

Source: `k8s.io/apimachinery/pkg/api/resource`.
"""

import math
import re
from fractions import Fraction
from functools import lru_cache

WORDS = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
"""The real server's words for a text that is no quantity."""

_FORM = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(|[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_KIBI = 1024
_FINEST = -9
_STEP = 3


class QuantityError(ValueError):
    """A text that is no quantity."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{WORDS}: {text!r}")


@lru_cache(maxsize=4096)
def parse(text: str) -> Fraction:
    """The value of a quantity.

    Raises:
        QuantityError: the text is no quantity.
    """
    return _parts(text)[0]


def _parts(text: str) -> tuple[Fraction, str]:
    match = _FORM.fullmatch(text)
    if match is None:
        raise QuantityError(text)
    sign, digits, suffix = match.groups()
    value = Fraction(digits.rstrip(".") or "0") if digits != "." else Fraction(0)
    value = -value if sign == "-" else value
    if suffix in _BINARY[1:]:
        return value * _KIBI ** _BINARY.index(suffix), "binary"
    if suffix in _DECIMAL:
        return value * Fraction(10) ** _DECIMAL[suffix], "decimal"
    return value * Fraction(10) ** int(suffix[1:]), "exponent"


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The form in which the API server hands the quantity out: `1024Mi` is `1Gi`, `0.5` is `500m`.

    Raises:
        QuantityError: the text is no quantity.
    """
    value, form = _parts(text)
    if form == "binary" and abs(value) >= _KIBI:
        return _binary(value)
    return _decimal(value, exponent=form == "exponent")


def _binary(value: Fraction) -> str:
    if value.denominator != 1:
        return _decimal(value, exponent=False)
    whole, power = value.numerator, 0
    while whole % _KIBI == 0 and power + 1 < len(_BINARY):
        whole, power = whole // _KIBI, power + 1
    return f"{whole}{_BINARY[power]}"


def _decimal(value: Fraction, *, exponent: bool) -> str:
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    whole, power = math.ceil(abs(value) * 10**9), _FINEST
    while whole % 1000 == 0 and power < max(_DECIMAL.values()):
        whole, power = whole // 1000, power + _STEP
    if exponent:
        return f"{sign}{whole}" + (f"e{power}" if power else "")
    suffix = next(name for name, size in _DECIMAL.items() if size == power)
    return f"{sign}{whole}{suffix}"

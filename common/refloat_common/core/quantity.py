"""Kubernetes quantities: what a text such as `1.5Gi` means, and how its value is written.

Values are whole multiples of 10⁻⁹, Kubernetes' finest step, in integers without bound: nothing overflows and nothing
is rounded unless a function says so. The rules are those of `resource.Quantity` in k8s.io/apimachinery: a finer value
is rounded away from zero, the kind of suffix is kept, and the canonical text has no fraction and the largest suffix
that allows it.
"""

import math
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

NANO = 10**9
"""Parts of a unit that `Quantity.nanos` counts."""

MAX_TEXT_CHARS = 256
MAX_EXPONENT = 128
"""A larger decimal exponent is refused: such a number has no meaning here and only costs memory."""

_SHAPE = re.compile(r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()} | {0: ""}
_EXPONENT = re.compile(r"[eE](?P<digits>[+-]?[0-9]+)")
_SMALL = 1024
_EXACT_DOUBLE = 1 << 53


class Format(Enum):
    """Which family of suffixes a quantity is written with."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class QuantityShapeError(ValueError):
    """The text has not the shape of a quantity."""

    def __init__(self) -> None:
        super().__init__(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        )


class QuantitySuffixError(ValueError):
    """The text has the shape of a quantity, but its suffix means nothing."""

    def __init__(self) -> None:
        super().__init__("unable to parse quantity's suffix")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount, in units of 10⁻⁹, and the family of its suffix."""

    nanos: int
    format: Format = Format.DECIMAL_SI

    def __str__(self) -> str:
        return _canonical(self)

    def __add__(self, other: "Quantity") -> "Quantity":
        """The exact sum; the suffix family is the left one's, unless the left one is zero."""
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    @property
    def units(self) -> int:
        """The amount in whole units, a fraction rounded up (Kubernetes' `Value()`)."""
        return -(-self.nanos // NANO)

    def times_up(self, factor: float) -> "Quantity":
        """The product in whole units, rounded up."""
        product = _small_product(self.units, factor)
        if product is not None:
            return from_units(math.ceil(product), self.format)
        numerator, denominator = _ratio(factor)
        return from_units(-(-self.units * numerator // denominator), self.format)

    def times_down(self, factor: float) -> "Quantity":
        """The product in whole units, rounded down."""
        product = _small_product(self.units, factor)
        if product is not None:
            return from_units(math.floor(product), self.format)
        numerator, denominator = _ratio(factor)
        return from_units(self.units * numerator // denominator, self.format)


def from_units(units: int, format_: Format = Format.DECIMAL_SI) -> Quantity:
    """A whole number of units."""
    return Quantity(units * NANO, format_)


ZERO = Quantity(0)


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """What a quantity's text means.

    Raises:
        QuantityShapeError: not the shape of a quantity, or longer than `MAX_TEXT_CHARS`.
        QuantitySuffixError: an unknown suffix, or an exponent beyond `MAX_EXPONENT`.
    """
    match = _SHAPE.fullmatch(text) if len(text) <= MAX_TEXT_CHARS and text.isascii() else None
    if match is None or not text:
        raise QuantityShapeError
    whole, part = match["whole"], match["part"] or ""
    numerator, power, format_ = _suffix(match["suffix"])
    mantissa = int(whole + part or "0") * numerator
    exponent = power + len(str(NANO)) - 1 - len(part)
    nanos = mantissa * 10**exponent if exponent >= 0 else -(-mantissa // 10**-exponent)
    if format_ is Format.BINARY_SI and 0 < nanos < NANO:
        format_ = Format.DECIMAL_SI
    return Quantity(-nanos if match["sign"] == "-" else nanos, format_)


def _suffix(suffix: str) -> tuple[int, int, Format]:
    """What a suffix multiplies by: an integer, and a power of ten."""
    if suffix in _DECIMAL:
        return 1, _DECIMAL[suffix], Format.DECIMAL_SI
    if suffix in _BINARY:
        return 1 << _BINARY[suffix], 0, Format.BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(int(match["digits"])) > MAX_EXPONENT:
        raise QuantitySuffixError
    return 1, int(match["digits"]), Format.DECIMAL_EXPONENT


def _small_product(units: int, factor: float) -> float | None:
    """The product in double precision, where that is what Armada's arithmetic gives, to the byte; None beyond it."""
    product = units * factor if abs(units) < _EXACT_DOUBLE else math.inf
    return product if abs(product) < _EXACT_DOUBLE else None


@lru_cache(maxsize=1024)
def _ratio(factor: float) -> tuple[int, int]:
    """A factor as a fraction of integers, exactly as it is printed: 1.1 is 11/10, not its nearest binary number."""
    mantissa, _, exponent = repr(factor).partition("e")
    whole, _, part = mantissa.partition(".")
    power = int(exponent or "0") - len(part)
    digits = int(whole + part)
    return (digits * 10**power, 1) if power >= 0 else (digits, 10**-power)


def _canonical(quantity: Quantity) -> str:
    """The canonical text (apimachinery: *Before serializing, Quantity will be put in "canonical form"*)."""
    if not quantity.nanos:
        return "0"
    whole, rest = divmod(quantity.nanos, NANO)
    if quantity.format is Format.BINARY_SI and not rest and abs(whole) >= _SMALL:
        return _binary(whole)
    return _decimal(quantity.nanos, quantity.format)


def _binary(whole: int) -> str:
    exponent = 0
    while exponent < _BINARY["Ei"] and whole % _SMALL == 0:
        whole //= _SMALL
        exponent += 10
    return f"{whole}{_BINARY_SUFFIX[exponent]}"


def _decimal(nanos: int, format_: Format) -> str:
    """The number without trailing thousands; a binary quantity that is small or broken is written like a decimal."""
    exponent = -9
    highest = MAX_EXPONENT if format_ is Format.DECIMAL_EXPONENT else _DECIMAL["E"]
    while exponent < highest and nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    if format_ is not Format.DECIMAL_EXPONENT:
        return f"{nanos}{_DECIMAL_SUFFIX[exponent]}"
    return f"{nanos}e{exponent}" if exponent else str(nanos)

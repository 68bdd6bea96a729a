"""Durations as Go writes them (`300ms`, `1h30m`), the only form that Armada's files know.

Source of the grammar: `time.ParseDuration` of Go's standard library.
"""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator

_UNIT_US = {"ns": 0.001, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_LONGEST = timedelta(microseconds=(2**63 - 1) / 1000)
_MAX_TEXT_CHARACTERS = 100


class InvalidDurationError(ValueError):
    """A text that is no duration."""

    def __init__(self) -> None:
        super().__init__("input should be a duration with units, such as 30s, 5m or 1h30m")


def parse_go_duration(text: str) -> timedelta:
    """The duration that `text` names, to the microsecond.

    Raises:
        InvalidDurationError: no unit, an unknown unit, or more than Go's 64-bit nanoseconds hold (about 292 years).
    """
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return timedelta()
    if not rest or len(rest) > _MAX_TEXT_CHARACTERS or not rest.isprintable():
        raise InvalidDurationError
    total_us, position = 0.0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            raise InvalidDurationError
        total_us += float(part[1]) * _UNIT_US[part[2]]
        position = part.end()
    if total_us >= _LONGEST / timedelta(microseconds=1):
        raise InvalidDurationError
    return sign * timedelta(microseconds=round(total_us))


def format_go_duration(duration: timedelta) -> str:
    """The shortest text that `parse_go_duration` reads back: `1h30m`, `1.5s`, `0s`."""
    sign = "-" if duration < timedelta() else ""
    seconds, rest_us = divmod(round(abs(duration) / timedelta(microseconds=1)), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{rest_us:06d}".rstrip("0") if rest_us else ""
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    parts.append(f"{seconds}{fraction}s" if seconds or fraction else "")
    return sign + ("".join(parts) or "0s")


def _from_file(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        # Armada reads a bare number as nanoseconds, which nobody means.
        raise InvalidDurationError
    return parse_go_duration(value)


Duration = Annotated[timedelta, BeforeValidator(_from_file)]
"""A field that a person writes as a Go duration; bounds are added with `Field(gt=..., le=...)`."""

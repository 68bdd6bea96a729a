"""Writes how long ago something was, as kubectl shows it (`k8s.io/apimachinery/pkg/util/duration`)."""

from refloat_fakekube.core.objects import time_s

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 86_400 * 365
_UNKNOWN = "<unknown>"


def age(since: str, now_s: float) -> str:
    """The age of a time in RFC 3339."""
    if not since:
        return _UNKNOWN
    return human(int(now_s - time_s(since)))


def human(seconds: int) -> str:
    """Two units at most, the smaller one only while it matters."""
    seconds = max(0, seconds)
    steps: tuple[tuple[int, int, str, int, str], ...] = (
        (2 * _MINUTE, 1, "s", 0, ""),
        (10 * _MINUTE, _MINUTE, "m", 1, "s"),
        (3 * _HOUR, _MINUTE, "m", 0, ""),
        (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
        (2 * _DAY, _HOUR, "h", 0, ""),
        (8 * _DAY, _DAY, "d", _HOUR, "h"),
        (2 * _YEAR, _DAY, "d", 0, ""),
        (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    )
    for below, unit, name, smaller, smaller_name in steps:
        if seconds < below:
            rest = seconds % unit // smaller if smaller else 0
            return f"{seconds // unit}{name}" + (f"{rest}{smaller_name}" if rest else "")
    return f"{seconds // _YEAR}y"

"""Times in Kubernetes' JSON: RFC 3339 in whole seconds (`metav1.Time`)."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST_S: Final = -62_135_596_800
"""The year 1."""

_LATEST_S: Final = 253_402_300_799
"""The last second of the year 9999, which RFC 3339 can write."""


def time_text(seconds: int) -> str:
    """The text of a Unix time.

    Raises:
        ValueError: it lies outside of the years 1 to 9999.
    """
    if not _EARLIEST_S <= seconds <= _LATEST_S:
        raise ValueError("lies outside of the years 1 to 9999")
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def time_seconds(text: str) -> int:
    """The Unix time of a text, a fraction of a second cut off.

    Raises:
        ValueError: the text is no time with a zone.
    """
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("has no time zone")
    return (time - _EPOCH) // timedelta(seconds=1)

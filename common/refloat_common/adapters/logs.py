"""Writes the log: one JSON object a line on standard error, safe to show on a terminal whatever people wrote."""

import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, TextIO, TypeAlias

LEVELS: Final = ("debug", "info", "warning", "error")
MAX_TEXT_CHARACTERS: Final = 4096

Log: TypeAlias = Callable[[str, str, Mapping[str, object]], None]
"""Takes a level, a sentence, and named values."""


class JsonLog:
    """A log that writes what is at least as grave as `level`. Called as a `Log`.

    Everything beyond printable ASCII is escaped, so that no text can command a terminal or turn the reading order
    round; long texts are cut.
    """

    def __init__(
        self,
        component: str,
        level: str = "info",
        stream: TextIO | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._component = component
        self._least = LEVELS.index(level)
        self._stream = sys.stderr if stream is None else stream
        self._now = now

    def __call__(self, level: str, message: str, values: Mapping[str, object]) -> None:
        """Write one line; a stream that is gone is no reason to stop working."""
        if LEVELS.index(level) < self._least:
            return
        line: dict[str, object] = {
            "time": self._now().isoformat(timespec="milliseconds"),
            "level": level,
            "component": self._component,
            "message": message[:MAX_TEXT_CHARACTERS],
        }
        line |= {name: _plain(value) for name, value in values.items() if name not in line}
        try:
            self._stream.write(json.dumps(line, ensure_ascii=True) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)[:MAX_TEXT_CHARACTERS]

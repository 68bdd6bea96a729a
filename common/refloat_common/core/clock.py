"""What the roots ask of time and chance; the simulator answers with its own.

Core functions never hold one of these: they take `now` and random numbers as arguments.
"""

from typing import Protocol


class Clock(Protocol):
    """The only source of time in a process."""

    def monotonic_s(self) -> float:
        """Seconds on a clock that never steps and goes on through suspend; the zero is arbitrary."""

    def utc_ms(self) -> int:
        """Milliseconds since 1970 in UTC: for display and events, never for a decision."""


class Chance(Protocol):
    """The only source of randomness in a process."""

    def uuid7(self) -> str:
        """A fresh UUID, version 7: run ids, and whatever must never be used twice even after a restore."""

    def ulid(self) -> str:
        """A fresh ULID in lower case: job ids, as Armada's."""

    def token(self) -> str:
        """A fresh random name of 32 hexadecimal digits: boot and journal ids."""

    def fraction(self) -> float:
        """A number in [0, 1), for jitter."""

"""Virtual time and seeded chance behind the product's own ports (`refloat_common.core.clock`)."""

import asyncio
import random
from dataclasses import dataclass

from refloat_common.adapters.clock import ulid_from, uuid7_from
from testkit.virtual.process import PROCESS
from testkit.virtual.streams import Streams

EPOCH_MS = 1_800_000_000_000
"""What the wall shows when a run begins: a date in 2027."""


@dataclass(slots=True)
class SimClock:
    """One process's clocks: an offset and a rate of its own on the monotonic one, a step of its own on the wall."""

    loop: asyncio.AbstractEventLoop
    offset_s: float = 0.0
    rate: float = 1.0
    wall_step_ms: int = 0

    def monotonic_s(self) -> float:
        """Seconds since this process's own zero."""
        _check()
        return self.offset_s + self.loop.time() * self.rate

    def utc_ms(self) -> int:
        """Milliseconds since 1970, as this process's wall clock shows them."""
        _check()
        return EPOCH_MS + round(self.loop.time() * 1000) + self.wall_step_ms


class SimChance:
    """One process's chance. Ids and jitter draw from separate streams, so that one more id shifts no delay."""

    def __init__(self, streams: Streams, name: str, clock: SimClock) -> None:
        self._ids: random.Random = streams.of(f"ids/{name}")
        self._jitter: random.Random = streams.of(f"jitter/{name}")
        self._clock = clock

    def uuid7(self) -> str:
        """A fresh UUID, version 7."""
        return uuid7_from(self._clock.utc_ms(), self._ids.getrandbits(74))

    def ulid(self) -> str:
        """A fresh ULID, lower case."""
        return ulid_from(self._clock.utc_ms(), self._ids.getrandbits(80))

    def token(self) -> str:
        """32 random hexadecimal digits."""
        _check()
        return f"{self._ids.getrandbits(128):032x}"

    def fraction(self) -> float:
        """A number in [0, 1)."""
        _check()
        return self._jitter.random()


def _check() -> None:
    process = PROCESS.get()
    if process is not None:
        process.check()

"""The real clock and the real randomness: the one place of the product that reads either."""

import random
import secrets
import time
from datetime import UTC, datetime

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def uuid7_from(milliseconds: int, random_bits: int) -> str:
    """The text of a version 7 UUID: 48 bits of time, then 74 random bits (RFC 9562, section 5.7)."""
    high = (milliseconds & (1 << 48) - 1) << 16 | 0x7000 | random_bits >> 62 & 0xFFF
    low = 0b10 << 62 | random_bits & (1 << 62) - 1
    digits = f"{high:016x}{low:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def ulid_from(milliseconds: int, random_bits: int) -> str:
    """The text of a ULID in lower case: 48 bits of time, then 80 random bits, in Crockford's base 32."""
    value = (milliseconds & (1 << 48) - 1) << 80 | random_bits & (1 << 80) - 1
    return "".join(_CROCKFORD[value >> shift & 31] for shift in range(125, -1, -5))


class SystemClock:
    """Reads the machine's clocks.

    Monotonic time is CLOCK_BOOTTIME where there is one: an executor that slept must see its lease as old.
    """

    def __init__(self) -> None:
        self._id = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary zero, suspend included."""
        return time.clock_gettime(self._id)

    def utc_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        return int(datetime.now(UTC).timestamp() * 1000)


class SystemChance:
    """Randomness of the operating system for ids, a cheap generator for jitter."""

    def __init__(self) -> None:
        self._jitter = random.SystemRandom()
        self._last_ulid = (0, 0)

    def uuid7(self) -> str:
        """A fresh UUID, version 7."""
        return uuid7_from(time.time_ns() // 1_000_000, secrets.randbits(74))

    def ulid(self) -> str:
        """A fresh ULID, lower case. Those of one process are in order, also within a millisecond and a clock step."""
        now_ms, last_ms = time.time_ns() // 1_000_000, self._last_ulid[0]
        fresh = (now_ms, secrets.randbits(79)) if now_ms > last_ms else (last_ms, self._last_ulid[1] + 1)
        self._last_ulid = fresh
        return ulid_from(*fresh)

    def token(self) -> str:
        """32 random hexadecimal digits."""
        return secrets.token_hex(16)

    def fraction(self) -> float:
        """A number in [0, 1)."""
        return self._jitter.random()

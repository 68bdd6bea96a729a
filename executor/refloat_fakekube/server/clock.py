"""The server's time and chance: the system clock, and uids from a seeded generator."""

import random
import time
import uuid

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5


class SystemClock:
    """Seconds since 1970."""

    def now_s(self) -> float:
        """The time now."""
        return time.time()


class SeededIds:
    """Uids and name suffixes drawn from one seeded generator: the same seed gives the same ids in the same order."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def uid(self) -> str:
        """A fresh UUID, version 4."""
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def suffix(self) -> str:
        """Five letters and digits, as the API server's name generator draws them."""
        return "".join(self._rng.choices(_ALPHABET, k=_SUFFIX_LENGTH))

"""Decides when the next request may be sent: a token bucket, so that a storm of failures is none for the API server."""

from dataclasses import dataclass

ROUNDING = 1e-9
"""So much less than a token is one: else a wait could be too short for any clock to show."""


@dataclass(slots=True)
class Bucket:
    """`burst` requests at once after a quiet time, `rate_per_s` over a longer one."""

    rate_per_s: float
    burst: int
    _tokens: float = 0.0
    _at_s: float | None = None

    def take(self, now_s: float, reserve: float = 0.0) -> float:
        """Take a token: 0 if there was one, else the seconds until there will be one (nothing is taken then).

        With a `reserve`, so many tokens are left for others; it must be below `burst`.
        """
        if self._at_s is None:
            self._tokens = float(self.burst)
        else:
            self._tokens = min(float(self.burst), self._tokens + (now_s - self._at_s) * self.rate_per_s)
        self._at_s = now_s
        missing = min(1.0 + reserve, float(self.burst)) - self._tokens
        if missing > ROUNDING:
            return missing / self.rate_per_s
        self._tokens -= 1.0
        return 0.0

"""Decides how long to wait before something is tried again: capped doubling with full jitter."""

FIRST_S = 0.2
LONGEST_S = 10.0
_MAX_DOUBLINGS = 16


def backoff_s(failures: int, dice: float, *, first_s: float = FIRST_S, longest_s: float = LONGEST_S) -> float:
    """Seconds to wait after `failures` failures in a row (1 for the first), for a `dice` in [0, 1).

    Full jitter spreads a crowd best, but a wait of nothing would be no wait; so the lower half of `first_s` is kept.
    """
    ceiling_s = min(longest_s, first_s * 2.0 ** min(max(failures - 1, 0), _MAX_DOUBLINGS))
    floor_s = first_s / 2
    return floor_s + dice * (ceiling_s - floor_s)

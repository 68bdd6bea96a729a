"""Decides when a connection has made so many errors that nothing more is read from it for a while.

An error costs its sender only: each connection has its own budget, and one that is muted is dropped before its frames
are decoded.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from refloat_common.core.link.scheduler.values import Budget, PeerKey

ERRORS_AT_ONCE: Final = 16.0
SECONDS_PER_ERROR: Final = 4.0
MUTE_S: Final = 60.0
MAX_CONNECTIONS: Final = 1024
"""Budgets remembered; the oldest is forgotten first."""


def is_muted(budgets: Mapping[PeerKey, Budget], key: PeerKey, now_s: float) -> bool:
    """Whether frames of this connection are to be dropped unread."""
    budget = budgets.get(key)
    return budget is not None and now_s < budget.muted_until_s


def charge(budgets: Mapping[PeerKey, Budget], key: PeerKey, now_s: float) -> Mapping[PeerKey, Budget]:
    """The budgets after one more error on this connection."""
    known = budgets.get(key, Budget(ERRORS_AT_ONCE, now_s))
    left = min(ERRORS_AT_ONCE, known.left + (now_s - known.at_s) / SECONDS_PER_ERROR) - 1
    after = Budget(left, now_s)
    if left < 1:
        after = replace(after, left=ERRORS_AT_ONCE, at_s=now_s + MUTE_S, muted_until_s=now_s + MUTE_S)
    kept = dict(budgets)
    kept.pop(key, None)
    while len(kept) >= MAX_CONNECTIONS:
        del kept[next(iter(kept))]
    kept[key] = after
    return kept

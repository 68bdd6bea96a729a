"""Decides which reports are sent, and when one is sent again.

The journal numbers reports without a gap; the scheduler acknowledges a prefix. So all that must be known is how far
the prefix goes (`acked`), how far was sent (`sent`), and how far one may send (`acked` + `credits`).

Only the oldest unacknowledged batch is ever repeated by a timer: 4 s after it was first sent, then at a random time up
to a limit that doubles to 60 s. Once a repeated batch is acknowledged, everything behind it goes out again at once:
the scheduler drops what follows a gap. The same holds when credits come back after there were none.
"""

from dataclasses import replace
from typing import Final

from refloat_common.core.link.executor.values import FetchReports, Window
from refloat_common.core.messages import MAX_REPORTS_BYTES, MAX_REPORTS_PER_MESSAGE

RESEND_FIRST_S: Final = 4.0
RESEND_MAX_S: Final = 60.0
RETRY_SEND_S: Final = 1.0
MAX_BATCHES_UNDER_WAY: Final = 8
"""With `MAX_REPORTS_BYTES`, 4 MiB. Reports that trickle in while 8 are under way make larger batches."""


def opened(window: Window, have: int, credits_granted: int) -> Window:
    """A session began: everything after `have` counts as unsent, even if it was acknowledged to an earlier one."""
    return Window(
        next_seq=window.next_seq,
        oldest_seq=window.oldest_seq,
        acked=have,
        sent=have,
        credits=credits_granted,
    )


def acknowledged(window: Window, have: int, credits_granted: int, now_s: float) -> Window:
    """The scheduler has everything up to `have`; an older word than the last one changes nothing but the credits."""
    if have <= window.acked:
        return granted(window, credits_granted)
    sent = have if window.repeated else max(window.sent, have)
    return replace(
        window,
        acked=have,
        sent=sent,
        flights=tuple(last for last in window.flights if have < last <= sent),
        credits=credits_granted,
        repeated=False,
        resend_wait_s=RESEND_FIRST_S,
        resend_at_s=now_s + RESEND_FIRST_S if sent > have else None,
    )


def granted(window: Window, credits_granted: int) -> Window:
    """Other credits. From none to some: what was under way is taken for lost."""
    if window.credits or not credits_granted:
        return replace(window, credits=credits_granted)
    return replace(window, credits=credits_granted, sent=window.acked, flights=(), resend_at_s=None)


def next_fetch(window: Window, now_s: float) -> FetchReports | None:
    """What to ask of the journal now, if anything."""
    if window.fetching or not window.credits or now_s < window.hold_until_s:
        return None
    if window.resend_at_s is not None and window.sent > window.acked and now_s >= window.resend_at_s:
        first, last = window.acked + 1, window.sent
    elif len(window.flights) >= MAX_BATCHES_UNDER_WAY:
        return None
    else:
        first, last = window.sent + 1, min(window.next_seq - 1, window.acked + window.credits)
    if first > last:
        return None
    return FetchReports(first, min(MAX_REPORTS_PER_MESSAGE, last - first + 1), MAX_REPORTS_BYTES)


def sending(window: Window, first: int, count: int, now_s: float, chance: float) -> Window:
    """`count` reports from `first` on go out now."""
    last = first + count - 1
    flights = (*window.flights, last) if last > window.sent else window.flights
    after = replace(window, fetching=0, sent=max(window.sent, last), flights=flights)
    if first != window.acked + 1:
        return after
    if first > window.sent:
        return replace(after, resend_wait_s=RESEND_FIRST_S, resend_at_s=now_s + RESEND_FIRST_S)
    wait_s = min(RESEND_MAX_S, max(RESEND_FIRST_S, window.resend_wait_s) * 2)
    at_s = now_s + RESEND_FIRST_S + chance * (wait_s - RESEND_FIRST_S)
    return replace(after, resend_wait_s=wait_s, resend_at_s=at_s, repeated=True)


def held_back(window: Window, now_s: float, chance: float) -> Window:
    """The transport took no report: start again from the acknowledged ones a little later."""
    return replace(
        window,
        fetching=0,
        sent=window.acked,
        flights=(),
        resend_at_s=None,
        hold_until_s=now_s + RETRY_SEND_S * (0.5 + chance),
    )


def drained(window: Window) -> bool:
    """Whether everything journaled is acknowledged."""
    return window.acked >= window.next_seq - 1


def deadline_s(window: Window) -> float | None:
    """When `next_fetch` should be asked again though nothing happens; None if only news can change its answer."""
    if window.fetching or not window.credits or drained(window):
        return None
    if window.resend_at_s is not None and window.sent > window.acked:
        return max(window.resend_at_s, window.hold_until_s)
    return window.hold_until_s if window.sent < window.next_seq - 1 else None

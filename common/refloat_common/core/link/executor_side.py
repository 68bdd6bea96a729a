"""Decides what an executor says to the scheduler, and what it may do by what the scheduler said.

The machine is a table of phases and events; `step` looks the pair up, and a pair that is missing is a protocol error,
answered by `Unexpected` and nothing else. Rules kept here (reliability, 0.1 and section 5):

* A session belongs to one start of the scheduler. Every start forces HELLO, which tells all that is held.
* The lease is as old as the *sending* of the newest heartbeat (or hello) that was answered.
* A run starts only with a fresh lease, in a live session, and after a heartbeat that listed it was answered without a
  kill (`may_start`). Ending a run and reporting need none of these.
* Only synced reports are sent, and only as many as the scheduler has granted.

`step` is given a random number in [0, 1) for jitter. Feed it a `Tick` at `deadline_s`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from refloat_common.core.link.executor import handlers as handle
from refloat_common.core.link.executor import window
from refloat_common.core.link.executor.speech import Step, bye, fetch
from refloat_common.core.link.executor.values import (
    CapacityChanged,
    Effect,
    Event,
    ExecutorLink,
    Identity,
    Journaled,
    Leave,
    Left,
    NodesObserved,
    NotSent,
    Phase,
    Received,
    ReportsFetched,
    RunsChanged,
    Tick,
    Unexpected,
    Window,
)
from refloat_common.core.messages import (
    Ack,
    HeartbeatAck,
    Kill,
    Leases,
    Nack,
    Refused,
    RunEntry,
    Stale,
    Welcome,
)

Handler: TypeAlias = Callable[..., Step]
Key: TypeAlias = tuple[Phase, type]

_GREETING: Final[dict[type, Handler]] = {
    Tick: handle.greet_when_due,
    NotSent: handle.greet_sooner,
    Journaled: handle.journaled,
    ReportsFetched: handle.nothing,
    RunsChanged: handle.hold,
    NodesObserved: handle.note_nodes,
    CapacityChanged: handle.capacity,
    Leave: handle.leave,
    Welcome: handle.welcome,
    Stale: handle.stale_hello,
    Refused: handle.refused,
    HeartbeatAck: handle.nothing,
    Ack: handle.nothing,
    Nack: handle.nothing,
    Kill: handle.nothing,
    Leases: handle.nothing,
}
_OPEN: Final[dict[type, Handler]] = {
    Tick: handle.beat_when_due,
    NotSent: handle.send_later,
    Journaled: handle.journaled,
    ReportsFetched: handle.send_reports,
    RunsChanged: handle.hold_and_list,
    NodesObserved: handle.tell_nodes,
    CapacityChanged: handle.tell_capacity,
    Leave: handle.leave,
    Welcome: handle.welcome,
    Stale: handle.stale_session,
    Refused: handle.refused,
    HeartbeatAck: handle.beat_answered,
    Ack: handle.ack,
    Nack: handle.nack,
    Kill: handle.kill,
    Leases: handle.leases,
}
_OVER: Final[dict[type, Handler]] = dict.fromkeys(_OPEN, handle.nothing)

TABLE: Final[dict[Key, Handler]] = {
    **{(Phase.GREETING, kind): handler for kind, handler in _GREETING.items()},
    **{(Phase.OPEN, kind): handler for kind, handler in _OPEN.items()},
    **{(Phase.TURNED_AWAY, kind): handler for kind, handler in _GREETING.items()},
    **{(Phase.PASSIVE, kind): handler for kind, handler in _OVER.items()},
    **{(Phase.GONE, kind): handler for kind, handler in _OVER.items()},
}
"""What each phase does with each event; a message stands under its own class."""


def begin(
    identity: Identity,
    *,
    last_epoch: int,
    next_seq: int,
    acked_seq: int,
    oldest_seq: int = 1,
    runs: tuple[RunEntry, ...] = (),
) -> ExecutorLink:
    """The state at process start, from what the journal holds. The first `Tick` sends HELLO."""
    link = ExecutorLink(
        identity=identity,
        last_epoch=last_epoch,
        window=Window(next_seq=next_seq, oldest_seq=oldest_seq, acked=acked_seq, sent=acked_seq),
    )
    return handle.hold(link, RunsChanged(changed=runs), 0.0, 0.0)[0]


def step(link: ExecutorLink, event: Event, now_s: float, chance: float) -> tuple[ExecutorLink, tuple[Effect, ...]]:
    """The state after an event, and what must be done, in this order."""
    subject = event.message if isinstance(event, Received) else event
    handler = TABLE.get((link.phase, type(subject)))
    if handler is None:
        detail = f"{type(subject).__name__} while {link.phase.value}"
        return link, (Unexpected("protocol", detail),)
    after, effects = handler(link, subject, now_s, chance)
    after, more = _go_on(after, now_s)
    return after, (*effects, *more)


def _go_on(link: ExecutorLink, now_s: float) -> Step:
    """What follows from the new state, whatever led to it: more reports to fetch, or the end of a leave-taking."""
    opened = link.phase is Phase.OPEN
    if link.leaving and link.phase is not Phase.GONE and (not opened or window.drained(link.window)):
        # Without a session nobody can be waited for: the next start tells what the journal holds.
        return replace(link, phase=Phase.GONE), (*(bye(link) if opened else ()), Left())
    return fetch(link, now_s) if opened else (link, ())


def deadline_s(link: ExecutorLink) -> float | None:
    """When the next `Tick` is due; None if only news can change anything."""
    match link.phase:
        case Phase.GREETING | Phase.TURNED_AWAY:
            return link.greeting.due_s
        case Phase.OPEN:
            resend_s = window.deadline_s(link.window)
            return link.beating.due_s if resend_s is None else min(resend_s, link.beating.due_s)
        case Phase.PASSIVE | Phase.GONE:
            return None


def lease_is_fresh(link: ExecutorLink, now_s: float) -> bool:
    """Whether the scheduler has answered something that was sent within the start window."""
    since_s = link.beating.fresh_from_s
    return link.phase is Phase.OPEN and since_s is not None and now_s - since_s < link.timing.start_window_s


def may_start(link: ExecutorLink, run: str, now_s: float) -> bool:
    """Whether the pod of an accepted run may be created at this moment (invariant S4)."""
    return not link.leaving and run in link.held.confirmed and lease_is_fresh(link, now_s)

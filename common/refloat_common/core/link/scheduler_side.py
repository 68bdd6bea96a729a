"""Decides what the scheduler's end of the link believes, and what it answers.

One table of phases and events serves every executor; `step` finds the executor that an event is about, and looks the
pair up; a pair that is missing is a protocol error. Rules kept here (reliability, sections 2.2, 4.6, 4.7, 5 and 6):

* Who speaks is decided by the connection's key, never by what the message says.
* A message of another session than the current one changes nothing; its sender is told to say HELLO.
* A newer process of an executor takes over; an older one is told so whenever it speaks.
* Reports are delivered once and in order; they are acknowledged when the store has committed them, not before.
* An error costs its connection only.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from refloat_common.core.link.scheduler import budget, sessions, traffic
from refloat_common.core.link.scheduler.sessions import Step
from refloat_common.core.link.scheduler.values import (
    BeatAnswered,
    BeatUnanswered,
    Committed,
    Effect,
    Event,
    Fault,
    FlowSet,
    Garbled,
    KillsOrdered,
    LeasesOrdered,
    NodesSettled,
    NotCommitted,
    PeerKey,
    Phase,
    Received,
    Reply,
    Server,
    Session,
    SessionDenied,
    SessionGranted,
)
from refloat_common.core.messages import Bye, Heartbeat, Hello, Nodes, Refused, Reports, Stale

Handler: TypeAlias = Callable[..., Step]
Answer: TypeAlias = tuple[Server, tuple[Effect, ...]]
MAX_EXECUTORS: Final = 1024

_ABSENT: Final[dict[type, Handler]] = {
    Hello: sessions.hello,
    Heartbeat: traffic.no_session,
    Nodes: traffic.no_session,
    Reports: traffic.no_session,
    Bye: traffic.nothing,
    SessionGranted: traffic.nothing,
    SessionDenied: traffic.nothing,
    Committed: traffic.nothing,
    NotCommitted: traffic.nothing,
    BeatAnswered: traffic.nothing,
    BeatUnanswered: traffic.nothing,
    NodesSettled: traffic.nothing,
    LeasesOrdered: traffic.nothing,
    KillsOrdered: traffic.nothing,
}
_OPENING: Final[dict[type, Handler]] = {
    **_ABSENT,
    Heartbeat: traffic.nothing,
    Nodes: traffic.nothing,
    Reports: traffic.nothing,
    SessionGranted: sessions.granted,
    SessionDenied: sessions.denied,
}
_OPEN: Final[dict[type, Handler]] = {
    Hello: sessions.hello,
    Heartbeat: traffic.beat,
    Nodes: traffic.nodes,
    Reports: traffic.reports,
    Bye: traffic.bye,
    SessionGranted: traffic.nothing,
    SessionDenied: traffic.nothing,
    Committed: traffic.committed,
    NotCommitted: traffic.not_committed,
    BeatAnswered: traffic.answer,
    BeatUnanswered: traffic.unanswered,
    NodesSettled: traffic.nodes_settled,
    LeasesOrdered: traffic.leases,
    KillsOrdered: traffic.kills,
}
TABLE: Final[dict[tuple[Phase, type], Handler]] = {
    (phase, kind): handler
    for phase, row in ((Phase.ABSENT, _ABSENT), (Phase.OPENING, _OPENING), (Phase.OPEN, _OPEN))
    for kind, handler in row.items()
}
"""What each phase of a session does with each event; a message stands under its own class."""


def step(server: Server, event: Event, now_s: float) -> tuple[Server, tuple[Effect, ...]]:
    """The state after an event, and what must be done, in this order."""
    match event:
        case FlowSet(credits=granted, busy=busy):
            return replace(server, credits=granted, busy=busy), ()
        case Garbled():
            return _garbled(server, event, now_s)
        case Received():
            return _received(server, event, now_s)
        case _:
            return _for_session(server, event.executor, event, type(event), now_s)


def is_muted(server: Server, key: PeerKey, now_s: float) -> bool:
    """Whether a frame of this connection should be dropped before it is decoded."""
    return budget.is_muted(server.budgets, key, now_s)


def session_of(server: Server, executor: str) -> Session | None:
    """What is known of an executor's session."""
    return server.sessions.get(executor)


def _for_session(
    server: Server, executor: str, event: Event, kind: type, now_s: float
) -> tuple[Server, tuple[Effect, ...]]:
    session = server.sessions.get(executor, Session(executor=executor))
    handler = TABLE.get((session.phase, kind))
    if handler is None:
        return server, (Fault(executor, "protocol", f"{kind.__name__} while {session.phase.value}"),)
    after, effects = handler(server, session, event, now_s)
    if after is session and executor in server.sessions:
        return server, effects
    return replace(server, sessions={**server.sessions, executor: after}), effects


def _garbled(server: Server, event: Garbled, now_s: float) -> Answer:
    key = (event.channel, event.peer)
    if budget.is_muted(server.budgets, key, now_s):
        return server, ()
    answer = Refused(code=event.refusal.code, detail=event.refusal.detail)
    effects = (Fault(event.executor or "", event.refusal.code, event.refusal.detail), Reply(*key, answer))
    return replace(server, budgets=budget.charge(server.budgets, key, now_s)), effects


def _received(server: Server, event: Received, now_s: float) -> Answer:
    key = (event.channel, event.peer)
    if budget.is_muted(server.budgets, key, now_s):
        return server, ()
    who = _speaker(server, event)
    if isinstance(who, Stale) and who.reason != "revoked":
        return server, (Reply(*key, who),)
    if isinstance(who, Stale):
        charged = replace(server, budgets=budget.charge(server.budgets, key, now_s))
        return charged, (Reply(*key, who), Fault("", who.reason))
    if isinstance(who, Fault):
        charged = replace(server, budgets=budget.charge(server.budgets, key, now_s))
        return charged, (who, Reply(*key, Refused(code=who.code, detail=who.detail)))
    after, effects = _for_session(server, who, event, type(event.message), now_s)
    if any(isinstance(effect, Fault) for effect in effects):
        after = replace(after, budgets=budget.charge(after.budgets, key, now_s))
    return after, effects


def _speaker(server: Server, event: Received) -> str | Stale | Fault:
    """The executor that a message is taken to come from."""
    message = event.message
    claimed = message.executor if isinstance(message, Hello) else ""
    if server.secure:
        if not event.executor:
            return Stale(boot=server.boot, epoch=getattr(message, "epoch", 0), reason="revoked")
        if claimed and claimed != event.executor:
            return Fault(event.executor, "identity", f"this key does not speak for {claimed}")
        return event.executor
    if claimed:
        full = claimed not in server.sessions and len(server.sessions) >= MAX_EXECUTORS
        return Fault("", "too-many-executors", f"{MAX_EXECUTORS} are known") if full else claimed
    return _by_session(server, event)


def _by_session(server: Server, event: Received) -> str | Stale:
    """Without keys, a message belongs to the session of its connection, or of its journal."""
    message = event.message
    for name, session in server.sessions.items():
        if isinstance(message, Reports):
            if session.journal == message.journal:
                return name
        elif session.control_peer == event.peer:
            return name
    return Stale(boot=server.boot, epoch=getattr(message, "epoch", 0), reason="restarted")

"""How sessions of executors open and end: hellos in parts, newer processes, the store's answer."""

from dataclasses import replace
from typing import Final, TypeAlias

from refloat_common.core.link.frames import Channel
from refloat_common.core.link.parts import in_parts
from refloat_common.core.link.scheduler.values import (
    Effect,
    Fault,
    Greeted,
    OpenSession,
    Phase,
    Received,
    Reply,
    Server,
    Session,
    SessionDenied,
    SessionGranted,
)
from refloat_common.core.messages import PROTOCOL_VERSION, Hello, RunVerdict, Stale, Welcome

Step: TypeAlias = tuple[Session, tuple[Effect, ...]]
MAX_HELLO_PARTS: Final = 16
MAX_SUPERSEDED: Final = 32


def hello(server: Server, session: Session, event: Received, _now_s: float) -> Step:
    """A part of a HELLO. With the last one, a session is asked of the store; one that is being opened comes first."""
    message = event.message
    assert isinstance(message, Hello)
    low, high = message.versions
    if not low <= PROTOCOL_VERSION <= high:
        return session, _turned_away(server, event, "version")
    if message.boot in session.superseded:
        spoke = Fault(session.executor, "superseded", "an older process of this executor is still there")
        return session, (*_turned_away(server, event, "superseded"), spoke)
    newest = session.waiting.hello if session.waiting else None
    known = newest.attempt if newest and newest.boot == message.boot else session.attempt
    if message.boot in (session.boot, newest.boot if newest else "") and message.attempt <= known:
        return session, ()
    greeted = _collect(session, message, event.peer)
    if greeted is None:
        return replace(session, collecting=None, parts=0), ()
    if message.more:
        return replace(session, collecting=greeted, parts=message.part + 1), ()
    complete = replace(session, collecting=None, parts=0)
    if session.phase is Phase.OPENING:
        return replace(complete, waiting=greeted), ()
    return _ask(server, complete, greeted)


def _collect(session: Session, message: Hello, peer: bytes) -> Greeted | None:
    """What is known of this hello with this part; None if a part is missing or there are too many."""
    if message.part == 0:
        return Greeted(message, tuple(message.runs), peer)
    before = session.collecting
    fits = before is not None and (before.hello.boot, before.hello.attempt) == (message.boot, message.attempt)
    if before is None or not fits or message.part != session.parts or message.part >= MAX_HELLO_PARTS:
        return None
    return Greeted(before.hello, (*before.runs, *message.runs), peer)


def _turned_away(server: Server, event: Received, reason: str) -> tuple[Effect, ...]:
    stale = Stale.model_validate({"boot": server.boot, "epoch": 0, "reason": reason})
    return (Reply(event.channel, event.peer, stale),)


def _ask(server: Server, session: Session, greeted: Greeted) -> Step:
    """Ask the store for a session; the one of an earlier process ends here."""
    message = greeted.hello
    effects: list[Effect] = []
    superseded = session.superseded
    if session.boot and session.boot != message.boot:
        superseded = (*superseded, session.boot)[-MAX_SUPERSEDED:]
        if session.phase is Phase.OPEN and session.control_peer != greeted.peer:
            told = Stale(boot=server.boot, epoch=session.epoch, reason="superseded")
            effects.append(Reply(Channel.CONTROL, session.control_peer, told))
    opening = Session(
        executor=session.executor,
        phase=Phase.OPENING,
        boot=message.boot,
        attempt=message.attempt,
        journal=message.journal,
        control_peer=greeted.peer,
        superseded=superseded,
        opening=greeted,
    )
    effects.append(OpenSession(session.executor, message, greeted.runs))
    return opening, tuple(effects)


def granted(server: Server, session: Session, event: SessionGranted, _now_s: float) -> Step:
    """The session is open; WELCOME tells the verdicts, in parts. A hello of a newer process that waits goes first."""
    if (event.boot, event.attempt) != (session.boot, session.attempt):
        return session, ()
    waiting = session.waiting
    if waiting is not None and waiting.hello.boot != session.boot:
        return _ask(server, session, waiting)
    opened = replace(
        session,
        phase=Phase.OPEN,
        epoch=event.epoch,
        have=event.have,
        received=event.have,
        allowed=event.have + server.credits,
        attempt=waiting.hello.attempt if waiting else session.attempt,
        control_peer=waiting.peer if waiting else session.control_peer,
        opening=None,
        waiting=None,
    )
    return opened, _welcome(server, opened, event)


def _welcome(server: Server, session: Session, event: SessionGranted) -> tuple[Effect, ...]:
    parts = in_parts(event.verdicts, _weigh_verdict)
    last = len(parts) - 1
    return tuple(
        Reply(
            Channel.CONTROL,
            session.control_peer,
            Welcome(
                scheduler_boot=server.boot,
                attempt=event.attempt,
                epoch=event.epoch,
                have=event.have,
                part=i,
                more=i < last,
                verdicts=list(part),
                credits=server.credits,
                timing=server.timing,
            ),
        )
        for i, part in enumerate(parts)
    )


def _weigh_verdict(verdict: RunVerdict) -> tuple[int, int]:
    return 4 * len(verdict.run) + 32, 5


def denied(server: Server, session: Session, event: SessionDenied, _now_s: float) -> Step:
    """No session for now; a hello that waits is tried instead."""
    if (event.boot, event.attempt) != (session.boot, session.attempt):
        return session, ()
    if session.waiting is not None:
        return _ask(server, session, session.waiting)
    return replace(session, phase=Phase.ABSENT, opening=None), ()

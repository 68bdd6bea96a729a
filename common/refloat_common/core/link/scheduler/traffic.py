"""What happens within a session: heartbeats, reports, node facts, leases, kills, the farewell."""

from dataclasses import replace
from typing import Final

from refloat_common.core.link.frames import Channel
from refloat_common.core.link.parts import in_parts, text_bytes
from refloat_common.core.link.scheduler.sessions import Step
from refloat_common.core.link.scheduler.values import (
    BeatAnswered,
    BeatHeard,
    BeatUnanswered,
    Committed,
    Deliver,
    Departed,
    Effect,
    Fault,
    Heard,
    KillsOrdered,
    LeasesOrdered,
    NodesSettled,
    NodesTold,
    NotCommitted,
    Phase,
    Received,
    Reply,
    Server,
    Session,
)
from refloat_common.core.messages import (
    MAX_FRAME_BYTES,
    MAX_LEASES_PER_MESSAGE,
    Ack,
    Bye,
    Heartbeat,
    HeartbeatAck,
    Kill,
    Lease,
    Leases,
    Nack,
    Nodes,
    Refused,
    Reports,
    Stale,
)

MAX_NODE_PARTS: Final = 32
MAX_BATCHES_DELIVERED: Final = 16
"""Batches of one executor that may wait for a commit; it sends at most half as many at a time."""
NOTHING_KNOWN: Final = -1
"""A revision that no executor names."""
MAX_LEASE_BYTES: Final = MAX_FRAME_BYTES - 4096
"""A lease over this can't be sent at all."""


def nothing(_server: Server, session: Session, _event: object, _now_s: float) -> Step:
    """Left over from another session, or of no use now."""
    return session, ()


def no_session(server: Server, session: Session, event: Received, _now_s: float) -> Step:
    """The executor speaks of a session that this start of the scheduler does not know: it must say HELLO."""
    stale = Stale(boot=server.boot, epoch=_epoch_of(event), reason="restarted")
    return session, (Reply(event.channel, event.peer, stale),)


def _epoch_of(event: Received) -> int:
    return getattr(event.message, "epoch", 0)


def _other_session(server: Server, session: Session, event: Received) -> tuple[Effect, ...] | None:
    """The answer to a message of another epoch than the session's; None if it is of this one."""
    epoch = _epoch_of(event)
    if epoch == session.epoch:
        return None
    return (Reply(event.channel, event.peer, Stale(boot=server.boot, epoch=epoch, reason="unknown")),)


def beat(server: Server, session: Session, event: Received, _now_s: float) -> Step:
    """A heartbeat: the leases must say what of it is to be killed, then it is answered.

    One that comes while another is unanswered waits, in the place of any other that waits: it lists all that they do.
    """
    message = event.message
    assert isinstance(message, Heartbeat)
    other = _other_session(server, session, event)
    if other is not None:
        return session, other
    if message.n <= session.beat_n:
        return session, ()
    after = replace(session, control_peer=event.peer, beat_n=message.n, nodes_told=message.nodes_revision)
    heard = Heard(session.executor)
    if after.beat_asked_n:
        return replace(after, beat_waiting=message), (heard,)
    after, passed_on = _pass_on(after, message)
    return after, (heard, *passed_on)


def _pass_on(session: Session, message: Heartbeat | None) -> Step:
    """Nothing is asked any more, or this heartbeat is."""
    if message is None:
        return replace(session, beat_asked_n=0), ()
    after = replace(session, beat_asked_n=message.n, beat_waiting=None)
    return after, (BeatHeard(session.executor, session.epoch, message),)


def answer(server: Server, session: Session, event: BeatAnswered, _now_s: float) -> Step:
    """Answer a heartbeat of this session, and pass on the one that waits."""
    if event.epoch != session.epoch:
        return session, ()
    message = HeartbeatAck(
        epoch=session.epoch,
        n=event.n,
        kills=list(in_parts(event.kills, _weigh_run)[0]),
        credits=server.credits,
        busy=server.busy,
        want_runs=event.want_runs,
        want_nodes=session.nodes_told != session.nodes_revision and not session.nodes_storing,
    )
    reply = Reply(Channel.CONTROL, session.control_peer, message)
    after = _allow(server, session)
    if event.n != session.beat_asked_n:
        return after, (reply,)
    after, passed_on = _pass_on(after, session.beat_waiting)
    return after, (reply, *passed_on)


def unanswered(_server: Server, session: Session, event: BeatUnanswered, _now_s: float) -> Step:
    """The heartbeat stays without an answer; the one that waits may have more luck."""
    if (event.epoch, event.n) != (session.epoch, session.beat_asked_n):
        return session, ()
    return _pass_on(session, session.beat_waiting)


def _weigh_run(run: str) -> tuple[int, int]:
    return text_bytes(run), 1


def _allow(server: Server, session: Session) -> Session:
    return replace(session, allowed=max(session.allowed, session.have + server.credits))


def reports(server: Server, session: Session, event: Received, _now_s: float) -> Step:
    """A batch: new consecutive reports are delivered, known ones dropped, what lies behind a gap is dropped too."""
    message = event.message
    assert isinstance(message, Reports)
    other = _other_session(server, session, event)
    if other is not None:
        return session, other
    if message.journal != session.journal:
        return session, _fault(event, session, "journal", "the session is of another journal")
    last = message.first_seq + len(message.reports) - 1
    if last > session.allowed:
        return session, _fault(event, session, "credits", f"report {last} is beyond {session.allowed}")
    known = replace(session, reports_peer=event.peer)
    heard = Heard(session.executor)
    overrun = last > session.received and len(session.flights) >= MAX_BATCHES_DELIVERED
    if last <= session.have or message.first_seq > session.received + 1 or overrun:
        return known, (heard, _ack(server, known))
    if last <= session.received:
        return known, (heard,)
    first = session.received + 1
    fresh = tuple(message.reports[first - message.first_seq :])
    delivered = Deliver(session.executor, session.epoch, session.journal, first, fresh)
    return replace(known, received=last, flights=(*known.flights, last)), (heard, delivered)


def _ack(server: Server, session: Session) -> Reply:
    message = Ack(epoch=session.epoch, journal=session.journal, have=session.have, credits=server.credits)
    return Reply(Channel.REPORTS, session.reports_peer, message)


def _fault(event: Received, session: Session, code: str, detail: str) -> tuple[Effect, ...]:
    refused = Refused(code=code, detail=detail)
    return (Fault(session.executor, code, detail), Reply(event.channel, event.peer, refused))


def committed(server: Server, session: Session, event: Committed, _now_s: float) -> Step:
    """Acknowledge what is in the store, and name what was skipped. Nothing is acknowledged before its commit."""
    if event.epoch != session.epoch or event.have <= session.have:
        return session, ()
    flights = tuple(last for last in session.flights if last > event.have)
    moved = replace(session, have=event.have, received=max(session.received, event.have), flights=flights)
    after = _allow(server, moved)
    nacks = tuple(
        Nack(epoch=after.epoch, journal=after.journal, seq=seq, permanent=True, code=code)
        for seq, code in event.skipped
    )
    return after, (*(Reply(Channel.REPORTS, after.reports_peer, nack) for nack in nacks), _ack(server, after))


def not_committed(_server: Server, session: Session, event: NotCommitted, _now_s: float) -> Step:
    """What was not committed was never received."""
    lost = replace(session, received=session.have, flights=())
    return (lost if event.epoch == session.epoch else session), ()


def nodes(server: Server, session: Session, event: Received, _now_s: float) -> Step:
    """Node facts: a change that follows the known revision, or everything, once its last part is there."""
    message = event.message
    assert isinstance(message, Nodes)
    other = _other_session(server, session, event)
    if other is not None:
        return session, other
    if not message.full:
        if message.revision != session.nodes_revision + 1 or session.nodes_storing:
            return session, ()
        told = NodesTold(session.executor, tuple(message.upserted), tuple(message.removed), full=False)
        return replace(session, nodes_revision=message.revision, nodes_storing=True), (told,)
    before = session.nodes_parts if message.part else ()
    if message.part != len(before) or message.part >= MAX_NODE_PARTS or session.nodes_storing:
        return replace(session, nodes_parts=()), ()
    parts = (*before, tuple(message.upserted))
    if message.more:
        return replace(session, nodes_parts=parts), ()
    facts = tuple(node for part in parts for node in part)
    after = replace(session, nodes_parts=(), nodes_revision=message.revision, nodes_storing=True)
    return after, (NodesTold(session.executor, facts, (), full=True),)


def nodes_settled(_server: Server, session: Session, event: NodesSettled, _now_s: float) -> Step:
    """Node facts that were lost are as if never told: the next answer to a heartbeat asks for all of them."""
    revision = session.nodes_revision if event.stored else NOTHING_KNOWN
    return replace(session, nodes_storing=False, nodes_revision=revision), ()


def bye(_server: Server, session: Session, event: Received, _now_s: float) -> Step:
    """A clean end."""
    assert isinstance(event.message, Bye)
    if event.message.epoch != session.epoch:
        return session, ()
    return replace(session, phase=Phase.ABSENT), (Departed(session.executor),)


def leases(_server: Server, session: Session, event: LeasesOrdered, _now_s: float) -> Step:
    """Send leases, in as few messages as hold them; one that fits none is a fault, and is never sent."""
    fitting = [lease for lease in event.leases if _weigh_lease(lease)[0] <= MAX_LEASE_BYTES]
    faults = tuple(
        Fault(session.executor, "lease-too-large", f"run {lease.run}: {len(lease.pod_spec)} bytes of pod spec")
        for lease in event.leases
        if _weigh_lease(lease)[0] > MAX_LEASE_BYTES
    )
    parts = in_parts(fitting, _weigh_lease, MAX_LEASES_PER_MESSAGE) if fitting else ()
    sent = tuple(Reply(Channel.CONTROL, session.control_peer, Leases(session.epoch, list(part))) for part in parts)
    return session, (*sent, *faults)


def _weigh_lease(lease: Lease) -> tuple[int, int]:
    texts = (lease.run, lease.job, lease.queue, lease.job_set, lease.namespace, lease.owner)
    pairs = (*lease.labels.items(), *lease.annotations.items())
    size = sum(text_bytes(text) for text in texts) + sum(text_bytes(key) + text_bytes(value) for key, value in pairs)
    return size + len(lease.pod_spec) + 128, 0


def kills(_server: Server, session: Session, event: KillsOrdered, _now_s: float) -> Step:
    """Send word of ended runs."""
    parts = in_parts(event.runs, _weigh_run) if event.runs else ()
    messages = (Kill(epoch=session.epoch, runs=list(part), reason=event.reason) for part in parts)
    return session, tuple(Reply(Channel.CONTROL, session.control_peer, message) for message in messages)

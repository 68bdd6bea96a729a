"""Pumps the link: hands it what happened here and what the wire brought, and carries out what it asks for."""

from collections import deque
from typing import assert_never

import anyio

from refloat_common.core.link import executor_side
from refloat_common.core.link.executor.values import (
    Acknowledged,
    DeadLettered,
    Effect,
    Event,
    ExecutorLink,
    FetchReports,
    JournalBehind,
    KillRuns,
    LeasesOffered,
    Leave,
    Left,
    MayStart,
    NotSent,
    Received,
    ReportsFetched,
    Send,
    SessionLost,
    SessionOpened,
    Tick,
    Unexpected,
    WentPassive,
)
from refloat_common.core.link.frames import FromScheduler, Refusal, Side, decode, encode
from refloat_common.core.messages import ReportKind, Reports
from refloat_executor.core.ledger.values.records import Acked, Session
from refloat_executor.daemon.engine import Engine

MAX_EVENTS = 4096
"""Events that wait for the pump; whoever receives frames waits beyond."""


class PassiveError(Exception):
    """A newer process of this executor has taken over."""

    def __init__(self) -> None:
        super().__init__("a newer process of this executor has taken over: this one ends")


class JournalBehindError(Exception):
    """The journal is an old copy: the scheduler has reports that it does not hold."""

    def __init__(self, have: int) -> None:
        super().__init__(
            f"the scheduler has reports of this journal up to {have}, which the journal does not hold: it is an old "
            "copy; it was set aside, and the next start begins a new one"
        )


class LinkPump:
    """The executor's end of the link, and the tasks that drive it."""

    def __init__(self, engine: Engine, link: ExecutorLink) -> None:
        self._engine = engine
        self._ports = engine.ports
        self._link = link
        self._events: deque[Event] = deque()
        self._news = anyio.Event()
        self._room = anyio.Event()
        self.left = anyio.Event()
        """Set once BYE was sent: nothing more will be said."""

    def post(self, event: Event) -> None:
        """Hand in something that happened here."""
        self._events.append(event)
        self._news.set()

    def leave(self) -> None:
        """Say goodbye as soon as everything is acknowledged."""
        self.post(Leave())

    def may_start(self, run: str) -> bool:
        """Whether the pod of this run may be created at this moment."""
        return executor_side.may_start(self._link, run, self._ports.clock.monotonic_s())

    async def receive(self) -> None:
        """Take frames off the wire, for ever."""
        while True:
            channel, frame = await self._ports.transport.receive()
            message = decode(frame, receiver=Side.EXECUTOR, channel=channel)
            if isinstance(message, Refusal):
                self._ports.meters.unexpected(f"frame-{message.code}")
                self._ports.log("warning", "a frame was refused", {"code": message.code, "detail": message.detail})
                continue
            assert isinstance(message, FromScheduler)
            while len(self._events) >= MAX_EVENTS:
                self._room = anyio.Event()
                await self._room.wait()
            self.post(Received(message))

    async def run(self) -> None:
        """Step and carry out, for ever.

        Raises:
            PassiveError: a newer process has taken over.
            JournalBehindError: the journal can't be gone on with.
        """
        while True:
            event = await self._next()
            at = self._engine.moment()
            self._link, effects = executor_side.step(self._link, event, at.now_s, at.dice)
            for effect in effects:
                await self._carry_out(effect)

    async def _next(self) -> Event:
        while not self._events:
            self._news = anyio.Event()
            due_s = executor_side.deadline_s(self._link)
            now_s = self._ports.clock.monotonic_s()
            if due_s is None:
                await self._news.wait()
                continue
            if due_s <= now_s:
                return Tick()
            with anyio.move_on_after(due_s - now_s):
                await self._news.wait()
        self._room.set()
        return self._events.popleft()

    async def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send():
                await self._send(effect)
            case FetchReports(first, count, size):
                reports = await self._ports.journal.reports(first, count, size)
                self.post(ReportsFetched(first, tuple(reports)))
            case LeasesOffered() | MayStart() | KillRuns() | Acknowledged() | SessionOpened():
                self._tell_brain(effect)
            case SessionLost(reason):
                self._ports.log("warning", "the session with the scheduler ended", {"reason": reason})
            case DeadLettered(seq, code):
                await self._set_aside(seq, code)
            case Unexpected(code, detail):
                self._ports.meters.unexpected(code)
                self._ports.log("warning", "the scheduler said something unexpected", {"code": code, "detail": detail})
            case JournalBehind(have):
                await self._ports.journal.set_aside()
                raise JournalBehindError(have)
            case WentPassive():
                raise PassiveError
            case Left():
                self.left.set()
            case _:
                assert_never(effect)

    def _tell_brain(self, effect: LeasesOffered | MayStart | KillRuns | Acknowledged | SessionOpened) -> None:
        brain, at = self._engine.brain, self._engine.moment()
        match effect:
            case LeasesOffered(leases):
                brain.leased(leases, at)
            case MayStart(runs):
                brain.may_start(runs, at)
            case KillRuns(runs, reason):
                self._ports.log("info", "the scheduler ends runs", {"runs": len(runs), "reason": reason})
                brain.killed(runs, at)
            case Acknowledged(have):
                self._ports.trace("rep.acked", {"epoch": self._link.epoch, "seq": have})
                self._engine.journal_record(Acked(have, self._link.scheduler_boot))
                brain.acknowledged(have, at)
            case SessionOpened(epoch, boot):
                self._ports.trace("exec.session", {"epoch": epoch, "sboot": boot, "have": self._link.window.acked})
                self._ports.log("info", "a session with the scheduler was opened", {"epoch": epoch})
                self._engine.journal_record(Session(epoch, boot))
            case _:
                assert_never(effect)
        self._engine.wake()

    async def _send(self, effect: Send) -> None:
        if not await self._ports.transport.send(effect.channel, encode(effect.message)):
            self.post(NotSent(effect.channel))
            return
        if isinstance(effect.message, Reports):
            batch = effect.message
            for seq, report in enumerate(batch.reports, batch.first_seq):
                self._ports.trace("rep.sent", {"epoch": batch.epoch, "seq": seq, "run": report.run})
            if any(report.kind is ReportKind.FAILED for report in batch.reports):
                self._ports.failpoint("executor.reported")

    async def _set_aside(self, seq: int, code: str) -> None:
        for report in await self._ports.journal.reports(seq, 1, 1):
            self._ports.dead_letter(seq, code, report)
        self._ports.meters.unexpected("dead-letter")
        self._ports.log("error", "the scheduler can't apply a report", {"seq": seq, "code": code})

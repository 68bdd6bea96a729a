"""A scheduler that a test plays: a transport in memory that answers as the plugin would, without store or engine."""

from collections import deque
from dataclasses import dataclass, field

import anyio

from refloat_common.core.link.frames import Channel, Message, Refusal, Side, decode, encode
from refloat_common.core.messages import (
    Ack,
    Bye,
    Heartbeat,
    HeartbeatAck,
    Hello,
    Kill,
    Lease,
    Leases,
    Nodes,
    Report,
    ReportKind,
    Reports,
    RunVerdict,
    Timing,
    Verdict,
    Welcome,
)

TIMING = Timing(heartbeat_interval_s=0.2, start_window_s=30.0)
CREDITS = 1000


@dataclass
class PlayedScheduler:
    """What is durable at the scheduler, and the executor's connection to it.

    `killed` runs get KILL as their verdict; `silent` answers nothing; `acks` off commits without acknowledging.
    """

    boot: str = "scheduler-boot"
    have: dict[str, int] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    hellos: list[Hello] = field(default_factory=list)
    nodes: list[Nodes] = field(default_factory=list)
    beats: int = 0
    epoch: int = 0
    killed: set[str] = field(default_factory=set)
    silent: bool = False
    acks: bool = True
    answers_beats: bool = True
    listed: set[str] = field(default_factory=set)
    said_bye: bool = False
    free_slots: int = -1
    _to_executor: deque[tuple[Channel, bytes]] = field(default_factory=deque)
    _arrived: anyio.Event = field(default_factory=anyio.Event)
    _changed: anyio.Event = field(default_factory=anyio.Event)

    # ---- the executor's transport

    async def send(self, channel: Channel, frame: bytes) -> bool:
        if self.silent:
            return False
        message = decode(frame, receiver=Side.SCHEDULER, channel=channel)
        assert not isinstance(message, Refusal), message
        self._take(message)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        return True

    async def receive(self) -> tuple[Channel, bytes]:
        while not self._to_executor:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._to_executor.popleft()

    # ---- the test's hand

    def lease(self, *leases: Lease) -> None:
        self.say(Channel.CONTROL, Leases(epoch=self.epoch, leases=list(leases)))

    def kill(self, *runs: str) -> None:
        self.killed.update(runs)
        self.say(Channel.CONTROL, Kill(epoch=self.epoch, runs=list(runs), reason="test"))

    def of(self, run: str) -> list[Report]:
        return [report for report in self.reports if report.run == run]

    def kinds(self, run: str) -> list[str]:
        return [report.kind.value for report in self.of(run)]

    async def until_session(self, count: int = 1) -> None:
        while self.epoch < count:
            await self._changed.wait()

    async def until(self, run: str, kind: ReportKind) -> Report:
        """The first report of this kind for the run, once it is there."""
        while True:
            for report in self.of(run):
                if report.kind is kind:
                    return report
            await self._changed.wait()

    async def until_listed(self, run: str) -> None:
        while run not in self.listed:
            await self._changed.wait()

    async def until_bye(self) -> None:
        while not self.said_bye:
            await self._changed.wait()

    # ---- inside

    def _take(self, message: Message) -> None:
        match message:
            case Hello():
                self._greet(message)
            case Heartbeat():
                self.beats += 1
                self.free_slots = message.free_slots
                self.listed.update(message.listed)
                if not self.answers_beats:
                    return
                kills = sorted(self.killed.intersection(message.listed))
                answer = HeartbeatAck(epoch=self.epoch, n=message.n, kills=kills, credits=CREDITS)
                self.say(Channel.CONTROL, answer)
            case Reports():
                self._commit(message)
            case Nodes():
                self.nodes.append(message)
            case Bye():
                self.said_bye = True
            case _:
                raise AssertionError(message)

    def _greet(self, hello: Hello) -> None:
        self.hellos.append(hello)
        if hello.more:
            return
        self.epoch = max(self.epoch, hello.last_epoch) + 1
        verdicts = [
            RunVerdict(run=entry.run, verdict=Verdict.KILL if entry.run in self.killed else Verdict.KEEP)
            for entry in hello.runs
        ]
        welcome = Welcome(
            scheduler_boot=self.boot,
            attempt=hello.attempt,
            epoch=self.epoch,
            have=self.have.get(hello.journal, 0),
            verdicts=verdicts,
            credits=CREDITS,
            timing=TIMING,
        )
        self.say(Channel.CONTROL, welcome)

    def _commit(self, batch: Reports) -> None:
        have = self.have.get(batch.journal, 0)
        for seq, report in enumerate(batch.reports, batch.first_seq):
            if seq == have + 1:
                have = seq
                self.reports.append(report)
        self.have[batch.journal] = have
        if self.acks:
            self.say(Channel.REPORTS, Ack(epoch=self.epoch, journal=batch.journal, have=have, credits=CREDITS))

    def say(self, channel: Channel, message: Message) -> None:
        self.say_bytes(channel, encode(message))

    def say_bytes(self, channel: Channel, frame: bytes) -> None:
        self._to_executor.append((channel, frame))
        self._arrived.set()

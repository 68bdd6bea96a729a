"""The plugin as it runs, in virtual time, on a host in memory; the test plays its executors, message by message.

Frames go over a wire in memory that loses nothing; what the plugin says is noted with its time.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
from prometheus_client import CollectorRegistry

from refloat_common.core.ids import ExecutorId
from refloat_common.core.link.frames import (
    Channel,
    FromExecutor,
    FromScheduler,
    Message,
    Refusal,
    Side,
    decode,
    encode,
)
from refloat_common.core.link.transport import Arrival, ServerTransport
from refloat_common.core.messages import (
    CAPABILITY_DELETE_ACTION,
    PROTOCOL_VERSION,
    Ack,
    Bye,
    Heartbeat,
    HeartbeatAck,
    Hello,
    Kill,
    Lease,
    Leases,
    NodeFacts,
    Nodes,
    Report,
    Reports,
    RunEntry,
    Welcome,
)
from refloat_common.core.settings import parse_settings
from refloat_scheduler.plugin import Surroundings, create
from refloat_scheduler.service.contract import ExecutorView, StoreUnavailable
from refloat_scheduler.service.scheduler import SchedulerService
from refloat_scheduler.settings import SchedulerSettings
from testkit.scheduling.memory import MemoryHost, MemoryTransaction
from testkit.virtual.clock import SimChance, SimClock
from testkit.virtual.process import SimProcess
from testkit.virtual.run import World, run_virtual

T = TypeVar("T")
M = TypeVar("M")
Tree = Mapping[str, object]

ENGINE_ON: Tree = {"scheduling": {"retryPolicy": {"enabled": True, "globalMaxRetries": 10}}}


@dataclass(frozen=True, slots=True)
class Sent:
    """Something that the plugin sent."""

    at_s: float
    peer: bytes
    message: FromScheduler


@dataclass(slots=True)
class Wire:
    """A `ServerTransport` that a test holds the other end of. `is_reachable`: what its self-probe says."""

    loop: asyncio.AbstractEventLoop
    is_reachable: bool = True
    sent: list[Sent] = field(default_factory=list)
    _waiting: deque[Arrival] = field(default_factory=deque)
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    async def receive(self) -> Arrival:
        """See `ServerTransport.receive`."""
        while not self._waiting:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._waiting.popleft()

    async def send(self, channel: Channel, peer: bytes, frame: bytes) -> bool:
        """See `ServerTransport.send`."""
        message = decode(frame, receiver=Side.EXECUTOR, channel=channel)
        assert not isinstance(message, Refusal), message
        self.sent.append(Sent(self.loop.time(), peer, _from_scheduler(message)))
        return True

    async def reachable(self) -> bool:
        """See `SelfProbing.reachable`."""
        return self.is_reachable

    def put(self, channel: Channel, peer: bytes, executor: str, message: FromExecutor) -> None:
        """Hand a message to the plugin."""
        self._waiting.append(Arrival(channel, peer, executor, encode(message)))
        self._arrived.set()


def _from_scheduler(message: Message) -> FromScheduler:
    assert not isinstance(message, FromExecutor)
    return message


class SlowHost(MemoryHost):
    """The host in memory, whose commits take time: the work runs after `before_s`, its answer comes `after_s` later.

    `fails_on`: works that were made in a function of this name are refused, as if the store were down for them alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.before_s = 0.01
        self.after_s = 0.01
        self.commits: list[float] = []
        self.fails_on = ""

    def transact(self, work: Callable[[MemoryTransaction], T]) -> Awaitable[T]:
        """See the contract."""

        async def transacted() -> T:
            await anyio.sleep(self.before_s)
            if self.fails_on and f".{self.fails_on}.<locals>." in work.__qualname__:
                raise StoreUnavailable("it is down for this")
            value = self.run(work)
            self.commits.append(asyncio.get_running_loop().time())
            await anyio.sleep(self.after_s)
            return value

        return transacted()


@dataclass(slots=True)
class PlayedExecutor:
    """One process of an executor: it says what the test tells it to say, with its session's epoch and counts."""

    play: "Play"
    name: ExecutorId
    boot: str = "boot-1"
    journal: str = "journal-1"
    epoch: int = 0
    attempt: int = 0
    beats: int = 0
    reported: int = 0
    acked: int = 0
    capabilities: tuple[str, ...] = (CAPABILITY_DELETE_ACTION,)

    @property
    def peer(self) -> bytes:
        """The name of its connection."""
        return f"{self.name}/{self.boot}".encode()

    async def hello(self, *runs: RunEntry, **changes: object) -> Welcome:
        """Open a session, and take over its epoch."""
        self.attempt += 1
        fields: dict[str, object] = {
            "executor": self.name,
            "boot": self.boot,
            "journal": self.journal,
            "attempt": self.attempt,
            "versions": (PROTOCOL_VERSION, PROTOCOL_VERSION),
            "last_epoch": self.epoch,
            "next_seq": self.reported + 1,
            "acked_seq": self.acked,
            "runs": list(runs),
            "capabilities": list(self.capabilities),
            "node_id_label": "kubernetes.io/hostname",
        }
        self.say(Channel.CONTROL, Hello.model_validate(fields | changes))
        attempt = self.attempt
        welcome = await self.hears(Welcome, lambda message: message.attempt == attempt)
        self.epoch, self.acked = welcome.epoch, welcome.have
        return welcome

    def say(self, channel: Channel, message: FromExecutor) -> None:
        """Send a message as it is."""
        self.play.wire.put(channel, self.peer, self.name, message)

    def beat(self, *listed: str, runs: Sequence[RunEntry] | None = None, free: int = 10) -> int:
        """Send a heartbeat; returns its number."""
        self.beats += 1
        message = Heartbeat(
            epoch=self.epoch,
            n=self.beats,
            acked_seq=self.acked,
            next_seq=self.reported + 1,
            runs_count=0,
            runs_hash="",
            listed=list(listed),
            runs=None if runs is None else list(runs),
            free_slots=free,
            journal_free_bytes=1 << 20,
        )
        self.say(Channel.CONTROL, message)
        return self.beats

    async def answered(self, *listed: str, runs: Sequence[RunEntry] | None = None, free: int = 10) -> HeartbeatAck:
        """Send a heartbeat and wait for its answer."""
        number = self.beat(*listed, runs=runs, free=free)
        return await self.hears(HeartbeatAck, lambda message: message.n == number)

    def report(self, *reports: Report, first_seq: int | None = None) -> None:
        """Send reports, by default the next ones of the journal."""
        first = self.reported + 1 if first_seq is None else first_seq
        self.reported = max(self.reported, first + len(reports) - 1)
        self.say(Channel.REPORTS, Reports(self.epoch, self.journal, first, list(reports)))

    async def acknowledged(self, *reports: Report) -> Ack:
        """Send reports and wait until they are acknowledged."""
        self.report(*reports)
        wanted = self.reported
        ack = await self.hears(Ack, lambda message: message.have >= wanted)
        self.acked = ack.have
        return ack

    def tell_nodes(self, *nodes: NodeFacts) -> None:
        """Say which nodes there are."""
        self.say(Channel.CONTROL, Nodes(epoch=self.epoch, revision=1, full=True, upserted=list(nodes)))

    def bye(self) -> None:
        """Take leave."""
        self.say(Channel.CONTROL, Bye(epoch=self.epoch))

    def heard(self, kind: type[M]) -> list[M]:
        """All messages of a kind that it has got so far."""
        return [
            sent.message for sent in self.play.wire.sent if sent.peer == self.peer and isinstance(sent.message, kind)
        ]

    async def hears(self, kind: type[M], wanted: Callable[[M], bool] = lambda _: True, within_s: float = 10) -> M:
        """The first message of a kind that is as wanted, waited for if need be."""
        await self.play.until(lambda: any(map(wanted, self.heard(kind))), within_s)
        return next(filter(wanted, self.heard(kind)))

    def offered(self) -> list[str]:
        """The runs that were offered to it, again and again."""
        return [lease.run for message in self.heard(Leases) for lease in message.leases]

    def killed(self) -> list[str]:
        """The runs that it was told to end, besides those in answers to heartbeats."""
        return [run for message in self.heard(Kill) for run in message.runs]

    async def live_on(self, for_s: float, *, every_s: float = 5.0, free: int = 10) -> None:
        """Send heartbeats for so long."""
        until_s = self.play.now_s() + for_s
        while self.play.now_s() < until_s:
            self.beat(free=free)
            await anyio.sleep(min(every_s, max(0.0, until_s - self.play.now_s())))


@dataclass(slots=True)
class Play:
    """A host, and starts of the plugin on it."""

    world: World
    settings: SchedulerSettings
    host: SlowHost = field(default_factory=SlowHost)
    log: list[tuple[float, str, str]] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    wire: Wire = field(init=False)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    plugin: SchedulerService = field(init=False)
    process: SimProcess = field(init=False)

    def __post_init__(self) -> None:
        self.wire = Wire(self.world.loop)

    def now_s(self) -> float:
        """Seconds of virtual time."""
        return self.world.loop.time()

    async def start(self) -> None:
        """Start the plugin, and wait until executors can connect."""
        self.begin()
        await self.plugin.listening.wait()

    def begin(self) -> None:
        """Start the plugin anew."""
        self.wire, self.registry = Wire(self.world.loop), CollectorRegistry()
        clock = SimClock(self.world.loop)
        surroundings = Surroundings(
            clock=clock,
            chance=SimChance(self.world.streams, "plugin", clock),
            log=self._note,
            registry=self.registry,
            failpoint=self.passed.append,
            listen=self._listen,
            secure=True,
        )
        self.plugin = create(self.host, self.settings, surroundings=surroundings)
        self.process = self.world.loop.start_process("plugin", self.plugin.run)

    async def until(self, condition: Callable[[], object], within_s: float = 10) -> None:
        """Wait until something holds.

        Raises:
            TimeoutError: it does not within so long.
        """
        with anyio.fail_after(within_s):
            while not condition():  # noqa: ASYNC110  what is waited for says nothing
                await anyio.sleep(0.01)

    def kill(self) -> None:
        """The plugin's process dies."""
        self.world.loop.kill(self.process)

    def executor(self, name: str = "exec-1", **changes: object) -> PlayedExecutor:
        """An executor that has not spoken yet."""
        return PlayedExecutor(self, ExecutorId(name), **changes)  # type: ignore[arg-type]  # the test says what it wants

    def view(self, name: str = "exec-1") -> ExecutorView:
        """How the plugin sees an executor."""
        [view] = [view for view in self.plugin.executors() if view.executor == name]
        return view

    def texts(self, *levels: str) -> list[str]:
        """What was logged, at these levels or at any."""
        return [text for _, level, text in self.log if not levels or level in levels]

    def metric(self, name: str, **labels: str) -> float | None:
        """The value of a sample; None if there is none."""
        return self.registry.get_sample_value(name, labels)

    def lease(self, *leases: Lease, executor: str = "exec-1") -> None:
        """Offer leases, as a host does after its commit."""
        self.plugin.offer(ExecutorId(executor), leases)

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[ServerTransport]:
        yield self.wire

    def _note(self, level: str, text: str, _values: Mapping[str, object]) -> None:
        self.log.append((self.now_s(), level, text))


def play(scenario: Callable[[Play], Awaitable[T]], tree: Tree = ENGINE_ON, *, limit_s: float = 48 * 3600.0) -> T:
    """Run a scenario with these settings to its end."""
    settings = parse_settings(SchedulerSettings, tree)

    async def run(world: World) -> T:
        return await scenario(Play(world, settings))

    return run_virtual(run, limit_s=limit_s)

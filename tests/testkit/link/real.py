"""The plugin on real sockets with real keys, on a host in memory; and executors that say what a test tells them."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio
import zmq
import zmq.asyncio
from prometheus_client import CollectorRegistry

from refloat_common.adapters.failpoints import never
from refloat_common.adapters.zmq_link.client import ClientKeys, ZmqClient, connect
from refloat_common.adapters.zmq_link.keys import Secret, make_pair, new_secret, read_public, read_secret
from refloat_common.core.link.frames import Channel, FromExecutor, Message, Refusal, Side, decode, encode
from refloat_common.core.messages import Ack, Heartbeat, HeartbeatAck, Hello, Report, Reports, RunEntry, Welcome
from refloat_scheduler.plugin import Link, Surroundings, create
from refloat_scheduler.settings import SchedulerSettings
from testkit.scheduling.memory import MemoryHost

M = TypeVar("M")
ANYWHERE = "tcp://127.0.0.1:0"
WITHIN_S = 8.0


@dataclass
class Keys:
    """A folder of key files: the scheduler's pair, executors' pairs, and the list of the executors' public keys."""

    folder: Path

    def __post_init__(self) -> None:
        make_pair(self.folder, "scheduler")
        self.listed: dict[str, list[str]] = {}
        self.write()

    @property
    def server_public(self) -> bytes:
        return read_public(self.folder / "scheduler.public")

    def add(self, executor: str) -> Secret:
        """A new pair for an executor, listed."""
        _public, secret_path, public = make_pair(self.folder, executor)
        self.listed[executor] = [public]
        self.write()
        return read_secret(secret_path)

    def revoke(self, executor: str) -> None:
        """Take an executor's keys off the list."""
        self.listed[executor] = []
        self.write()

    def write(self) -> None:
        rows = "".join(f"  {name}: [{', '.join(map(_quoted, keys))}]\n" for name, keys in self.listed.items())
        (self.folder / "executors.yaml").write_text(f"executors:\n{rows}" if rows else "")


def _quoted(text: str) -> str:
    return f'"{text}"'


@dataclass
class Running:
    """A started plugin: where it listens, what it logged, and its host."""

    host: MemoryHost
    endpoints: Mapping[Channel, str]
    log: list[tuple[str, str]]

    def state(self) -> object:
        """Everything that is stored, but for when executors were last seen."""
        contents = self.host.contents
        return (contents.jobs, contents.marks, contents.events, contents.verdicts, contents.late, contents.claims)


@asynccontextmanager
async def plugin(
    keys: Keys, host: MemoryHost, endpoints: Mapping[Channel, str] | None = None
) -> AsyncIterator[Running]:
    """The plugin, listening until the context ends."""
    log: list[tuple[str, str]] = []
    where: dict[Channel, str] = {}

    def note(level: str, text: str, values: Mapping[str, object]) -> None:
        log.append((level, text))
        if text == "the link is open":
            where.update({Channel(name): str(value) for name, value in values.items()})

    at = endpoints or {Channel.CONTROL: ANYWHERE, Channel.REPORTS: ANYWHERE}
    link = Link(
        control=at[Channel.CONTROL],
        reports=at[Channel.REPORTS],
        secret_key=keys.folder / "scheduler.secret",
        executor_keys=keys.folder / "executors.yaml",
    )
    surroundings = Surroundings(log=note, registry=CollectorRegistry(), failpoint=never)
    service = create(host, SchedulerSettings(), link, surroundings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service.run)
        with anyio.fail_after(WITHIN_S):
            await service.listening.wait()
        yield Running(host, where, log)
        tasks.cancel_scope.cancel()


@dataclass
class Speaker:
    """One connected process of an executor. It does nothing by itself."""

    name: str
    client: ZmqClient
    boot: str = "boot-1"
    journal: str = "journal-1"
    epoch: int = 0
    attempt: int = 0
    beats: int = 0
    got: list[Message] = field(default_factory=list)

    async def listen(self) -> None:
        """Note everything that comes."""
        while True:
            channel, frame = await self.client.receive()
            message = decode(frame, receiver=Side.EXECUTOR, channel=channel)
            assert not isinstance(message, Refusal), message
            self.got.append(message)

    async def say(self, channel: Channel, message: FromExecutor | bytes) -> None:
        """Send a message, or any bytes, as soon as somebody is connected."""
        frame = message if isinstance(message, bytes) else encode(message)
        with anyio.fail_after(WITHIN_S):
            while not await self.client.send(channel, frame):  # noqa: ASYNC110  nothing tells of a connection
                await anyio.sleep(0.01)

    async def hears(self, kind: type[M], wanted: Callable[[M], bool] = lambda _: True) -> M:
        """The first message of a kind that is as wanted."""
        with anyio.fail_after(WITHIN_S):
            while True:
                for message in self.got:
                    if isinstance(message, kind) and wanted(message):
                        return message
                await anyio.sleep(0.005)

    async def hello(self, *runs: RunEntry) -> Welcome:
        """Open a session."""
        self.attempt += 1
        await self.say(Channel.CONTROL, self.greeting(*runs))
        welcome = await self.hears(Welcome, lambda message: message.attempt == self.attempt)
        self.epoch = welcome.epoch
        return welcome

    def greeting(self, *runs: RunEntry) -> Hello:
        return Hello(
            executor=self.name,
            boot=self.boot,
            journal=self.journal,
            attempt=self.attempt,
            versions=(1, 1),
            last_epoch=self.epoch,
            next_seq=1,
            acked_seq=0,
            runs=list(runs),
            capabilities=["delete_action"],
        )

    def batch(self, first_seq: int, *reports: Report) -> Reports:
        return Reports(self.epoch, self.journal, first_seq, list(reports))

    async def beat(self) -> HeartbeatAck:
        """Send a heartbeat and wait for its answer: whatever was sent before it on this channel has been handled."""
        self.beats += 1
        await self.say(Channel.CONTROL, self.heartbeat())
        return await self.hears(HeartbeatAck, lambda ack: ack.n == self.beats)

    def heartbeat(self) -> Heartbeat:
        return Heartbeat(
            epoch=self.epoch,
            n=self.beats,
            acked_seq=0,
            next_seq=1,
            runs_count=0,
            runs_hash="",
            free_slots=1,
            journal_free_bytes=1,
        )

    async def acknowledged(self, first_seq: int, *reports: Report) -> None:
        """Send reports and wait until they are acknowledged."""
        await self.say(Channel.REPORTS, self.batch(first_seq, *reports))
        await self.hears(Ack, lambda ack: ack.have >= first_seq + len(reports) - 1)


@asynccontextmanager
async def speaker(
    keys: Keys, at: Mapping[Channel, str], name: str, secret: Secret, boot: str = "boot-1"
) -> AsyncIterator[Speaker]:
    """A connected executor."""
    both = ClientKeys(secret, keys.server_public)
    async with (
        connect(at[Channel.CONTROL], at[Channel.REPORTS], both) as client,
        anyio.create_task_group() as tasks,
    ):
        spoken = Speaker(name, client, boot=boot)
        tasks.start_soon(spoken.listen)
        yield spoken
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def plain_dealer(endpoint: str) -> AsyncIterator[zmq.asyncio.Socket]:
    """A client without any key."""
    with zmq.asyncio.Context() as context:
        socket = context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.IMMEDIATE, 1)
        socket.connect(endpoint)
        try:
            yield socket
        finally:
            socket.close(linger=0)


def stranger() -> Secret:
    """A key that nobody has listed."""
    return new_secret()

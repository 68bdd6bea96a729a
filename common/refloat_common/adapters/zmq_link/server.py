"""The scheduler's two listening sockets: who speaks is what the connection's key says, and nothing else."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import anyio
import anyio.lowlevel
import zmq
import zmq.asyncio

from refloat_common.adapters.zmq_link.gate import PROBE_S, Gate, LinkNotGuardedError, Outcome, plain_probe
from refloat_common.adapters.zmq_link.inbox import Inbox
from refloat_common.adapters.zmq_link.keys import Secret
from refloat_common.adapters.zmq_link.options import YIELD_EVERY_FRAMES, ZAP_DOMAIN, check_endpoint, new_socket
from refloat_common.adapters.zmq_link.outbox import Outboxes
from refloat_common.core.link.frames import Channel
from refloat_common.core.link.transport import Arrival

FLUSH_EVERY_S: Final = 0.05
REFRESH_KEYS_EVERY_S: Final = 1.0
PROBE_EVERY_S: Final = 60.0
Sockets: TypeAlias = Mapping[Channel, zmq.asyncio.Socket]


class Keys(Protocol):
    """Which key speaks for which executor."""

    def executor_of(self, public_key: str) -> str:
        """The executor; empty if the key speaks for nobody."""

    def refresh(self) -> bool:
        """Look whether that has changed. Raises ValueError, once for each change, where it can't be told."""


@dataclass(frozen=True, slots=True)
class ServerKeys:
    """The scheduler's secret, and the keys of its executors."""

    own: Secret
    executors: Keys


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts since the start, and what waits now."""

    received: int
    dropped: int
    waiting: int
    unsent: int
    refused_keys: int
    gate_restarts: int


class ZmqServer:
    """A `ServerTransport`. Made by `serve`; used by one task that receives and any that send."""

    def __init__(
        self, sockets: Mapping[Channel, zmq.asyncio.Socket], keys: ServerKeys | None, gate: Gate | None
    ) -> None:
        self._sockets = sockets
        self._keys = keys
        self._gate = gate
        self._inbox: Inbox[Arrival] = Inbox()
        self._outboxes = {channel: Outboxes(socket) for channel, socket in sockets.items()}
        self._received = 0
        self._gate_restarts = 0
        self.endpoints = {channel: socket.getsockopt_string(zmq.LAST_ENDPOINT) for channel, socket in sockets.items()}
        """Where the sockets are bound, with the ports that were chosen."""

    async def receive(self) -> Arrival:
        """The next frame from anybody; peers take turns."""
        return await self._inbox.get()

    async def send(self, channel: Channel, peer: bytes, frame: bytes) -> bool:
        """Hand over a frame at once, or keep it for a peer that is slow; false if that peer is gone or has too many."""
        return await self._outboxes[channel].send(peer, frame)

    async def reachable(self) -> bool:
        """See `transport.SelfProbing`: through the kernel's network, up to the handshake."""
        return all([await self._answers(endpoint) for endpoint in self.endpoints.values()])

    async def _answers(self, endpoint: str) -> bool:
        if self._gate is not None and self._keys is not None:
            return await self._gate.answers(endpoint, self._keys.own.public())
        return await plain_probe(endpoint) is Outcome.ADMITTED

    def statistics(self) -> Statistics:
        """A snapshot."""
        return Statistics(
            received=self._received,
            dropped=self._inbox.dropped,
            waiting=len(self._inbox),
            unsent=sum(outbox.dropped for outbox in self._outboxes.values()),
            refused_keys=self._gate.refused if self._gate else 0,
            gate_restarts=self._gate_restarts,
        )

    async def read(self, channel: Channel) -> None:
        """Receive for ever. Nothing is awaited between a frame's arrival and its place in the inbox."""
        socket = self._sockets[channel]
        tag = channel.value.encode()
        while True:
            parts = await socket.recv_multipart(copy=False)
            peer, last = parts[0].bytes, parts[-1]
            frame = last.bytes
            self._inbox.put(tag + peer, Arrival(channel, peer, self._speaker(last), frame), len(frame))
            self._received += 1
            if self._received % YIELD_EVERY_FRAMES == 0:
                await anyio.lowlevel.checkpoint()

    def _speaker(self, frame: zmq.Frame) -> str | None:
        if self._keys is None:
            return None
        try:
            user = frame.get("User-Id")
        except zmq.ZMQError:
            return ""
        return self._keys.executors.executor_of(str(user))

    async def flush(self) -> None:
        """Try again, for ever, what slow peers could not take."""
        while True:
            await anyio.sleep(FLUSH_EVERY_S)
            for outbox in self._outboxes.values():
                await outbox.flush()

    async def watch_gate(self, gate: Gate, public: bytes) -> None:
        """Try the gate now and then, for ever: one that lets strangers in ends the link, a dead one is restarted."""
        while True:
            await anyio.sleep(PROBE_EVERY_S)
            for endpoint in self.endpoints.values():
                await self.try_gate(gate, public, endpoint)

    async def try_gate(self, gate: Gate, public: bytes, endpoint: str, within_s: float = PROBE_S) -> None:
        """Whether the gate admits its own key and no other.

        Raises:
            LinkNotGuardedError: a stranger got in.
        """
        if await gate.admits_strangers(endpoint, public, within_s):
            raise LinkNotGuardedError(endpoint)
        if not await gate.answers(endpoint, public, within_s):
            gate.stop()
            gate.start()
            self._gate_restarts += 1


async def _refresh_keys(keys: Keys, report: Callable[[str], None]) -> None:
    while True:
        await anyio.sleep(REFRESH_KEYS_EVERY_S)
        try:
            changed = keys.refresh()
        except ValueError as error:
            report(f"the executors' keys can't be read again, the last good ones stay in force: {error}")
        else:
            if changed:
                report("the executors' keys have changed")


@asynccontextmanager
async def serve(
    control: str, reports: str, keys: ServerKeys | None, report: Callable[[str], None]
) -> AsyncIterator[ZmqServer]:
    """Listen on both channels, for as long as the context lasts; `keys` None is an insecure link.

    `report` is told in a sentence when the keys change or can't be read.

    Raises:
        EndpointRefusedError: an address that is not usable, or insecure and not on loopback.
        LinkNotGuardedError: a random key got in.
        zmq.ZMQError: an address that can't be bound.
    """
    endpoints = {Channel.CONTROL: control, Channel.REPORTS: reports}
    for endpoint in endpoints.values():
        check_endpoint(endpoint, secure=keys is not None)
    context = zmq.asyncio.Context()
    gate = None if keys is None else Gate(context, lambda key: bool(keys.executors.executor_of(key)))
    try:
        if gate is not None:
            gate.start()
        sockets = {channel: _router(context, where, keys) for channel, where in endpoints.items()}
        server = ZmqServer(sockets, keys, gate)
        async with anyio.create_task_group() as tasks:
            for channel in Channel:
                tasks.start_soon(server.read, channel, name=f"link {channel.value} reader")
            tasks.start_soon(server.flush, name="link flush")
            if keys is not None and gate is not None:
                public = keys.own.public()
                for endpoint in server.endpoints.values():
                    await server.try_gate(gate, public, endpoint)
                tasks.start_soon(server.watch_gate, gate, public, name="link gate")
                tasks.start_soon(_refresh_keys, keys.executors, report, name="link keys")
            yield server
            tasks.cancel_scope.cancel()
    finally:
        if gate is not None:
            gate.stop()
        context.destroy(linger=0)


def _router(context: zmq.asyncio.Context, endpoint: str, keys: ServerKeys | None) -> zmq.asyncio.Socket:
    socket = new_socket(context, zmq.ROUTER, endpoint)
    if keys is not None:
        socket.setsockopt(zmq.CURVE_SERVER, 1)
        socket.setsockopt(zmq.CURVE_SECRETKEY, keys.own.reveal())
        socket.setsockopt(zmq.ZAP_DOMAIN, ZAP_DOMAIN)
        socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
    socket.bind(endpoint)
    return socket

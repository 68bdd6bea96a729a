"""The executor's two connections to the scheduler."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.lowlevel
import zmq
import zmq.asyncio

from refloat_common.adapters.zmq_link.inbox import Inbox
from refloat_common.adapters.zmq_link.keys import Secret
from refloat_common.adapters.zmq_link.options import YIELD_EVERY_FRAMES, check_endpoint, new_socket
from refloat_common.core.link.frames import Channel

_SCHEDULER: Final = b"scheduler"


@dataclass(frozen=True, slots=True)
class ClientKeys:
    """The executor's secret, and the scheduler's public key in Z85."""

    own: Secret
    server: bytes


class ZmqClient:
    """A `ClientTransport`. Made by `connect`; used by one task that receives and any that send."""

    def __init__(self, sockets: Mapping[Channel, zmq.asyncio.Socket]) -> None:
        self._sockets = sockets
        self._inbox: Inbox[tuple[Channel, bytes]] = Inbox()

    async def send(self, channel: Channel, frame: bytes) -> bool:
        """Hand over a frame at once; false if nobody is connected or the queue is full."""
        try:
            await self._sockets[channel].send(frame, flags=zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    async def receive(self) -> tuple[Channel, bytes]:
        """The next frame on either channel."""
        return await self._inbox.get()

    @property
    def dropped(self) -> int:
        """Received frames that found the inbox full."""
        return self._inbox.dropped

    async def _read(self, channel: Channel) -> None:
        socket = self._sockets[channel]
        count = 0
        while True:
            parts = await socket.recv_multipart()
            self._inbox.put(_SCHEDULER + channel.value.encode(), (channel, parts[-1]), len(parts[-1]))
            count += 1
            if count % YIELD_EVERY_FRAMES == 0:
                await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def connect(control: str, reports: str, keys: ClientKeys | None) -> AsyncIterator[ZmqClient]:
    """Connect both channels, for as long as the context lasts; `keys` None is an insecure link.

    Connections are made and made again in the background: a scheduler that is not there yet is no error.

    Raises:
        EndpointRefusedError: an address that is not usable, or insecure and not on loopback.
    """
    endpoints = {Channel.CONTROL: control, Channel.REPORTS: reports}
    for endpoint in endpoints.values():
        check_endpoint(endpoint, secure=keys is not None)
    context = zmq.asyncio.Context()
    try:
        client = ZmqClient({channel: _dealer(context, where, keys) for channel, where in endpoints.items()})
        async with anyio.create_task_group() as tasks:
            for channel in Channel:
                tasks.start_soon(client._read, channel, name=f"link {channel.value} reader")  # noqa: SLF001  its maker
            yield client
            tasks.cancel_scope.cancel()
    finally:
        context.destroy(linger=0)


def _dealer(context: zmq.asyncio.Context, endpoint: str, keys: ClientKeys | None) -> zmq.asyncio.Socket:
    socket = new_socket(context, zmq.DEALER, endpoint)
    if keys is not None:
        socket.setsockopt(zmq.CURVE_SERVERKEY, keys.server)
        socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.own.public())
        socket.setsockopt(zmq.CURVE_SECRETKEY, keys.own.reveal())
    socket.connect(endpoint)
    return socket

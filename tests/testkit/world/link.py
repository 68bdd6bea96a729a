"""The link's transports on the simulated network: what ZeroMQ is in production.

A connection lasts as long as both of its ends; its name, as the scheduler's end sees it, holds the incarnations of
both, so a frame for a connection that is no more is not taken. Who speaks is the executor's process, as CURVE says it.
"""

from refloat_common.adapters.zmq_link.inbox import Inbox
from refloat_common.core.link.frames import Channel
from refloat_common.core.link.transport import Arrival
from testkit.virtual.process import current_process
from testkit.world.network import Frames, SimNetwork


def _address(owner: str, channel: Channel) -> str:
    return f"{owner}/{channel.value}"


class SimClientTransport:
    """A `ClientTransport` of the current process, which is named as its executor."""

    def __init__(self, network: SimNetwork, server: str) -> None:
        self._network = network
        self._server = server
        self._owner = current_process()
        self._inbox: Inbox[tuple[Channel, bytes]] = Inbox()
        for channel in Channel:
            network.listen(_address(self._owner.name, channel), self._deliver)

    async def send(self, channel: Channel, frame: bytes) -> bool:
        """See `ClientTransport.send`."""
        source, target = _address(self._owner.name, channel), _address(self._server, channel)
        if not self._network.reachable(source, target):
            return False
        self._network.send(source, target, (frame, str(self._owner.incarnation).encode()))
        return True

    async def receive(self) -> tuple[Channel, bytes]:
        """See `ClientTransport.receive`."""
        return await self._inbox.get()

    def _deliver(self, source: str, frames: Frames) -> None:
        frame, incarnation = frames
        if int(incarnation) == self._owner.incarnation:
            self._inbox.put(source.encode(), (Channel(source.rpartition("/")[2]), frame), len(frame))


class SimServerTransport:
    """A `ServerTransport` of the current process. `revoked` executors have keys that speak for nobody."""

    def __init__(self, network: SimNetwork) -> None:
        self._network = network
        self._owner = current_process()
        self._inbox: Inbox[Arrival] = Inbox()
        self.revoked: set[str] = set()
        for channel in Channel:
            network.listen(_address(self._owner.name, channel), self._deliver)

    async def receive(self) -> Arrival:
        """See `ServerTransport.receive`."""
        return await self._inbox.get()

    async def send(self, channel: Channel, peer: bytes, frame: bytes) -> bool:
        """See `ServerTransport.send`."""
        executor, client, server = peer.decode().rsplit("#", 2)
        source, target = _address(self._owner.name, channel), _address(executor, channel)
        if int(server) != self._owner.incarnation or not self._network.reachable(source, target):
            return False
        self._network.send(source, target, (frame, client.encode()))
        return True

    def _deliver(self, source: str, frames: Frames) -> None:
        frame, incarnation = frames
        executor, _, channel = source.rpartition("/")
        peer = f"{executor}#{incarnation.decode()}#{self._owner.incarnation}".encode()
        speaker = "" if executor in self.revoked else executor
        self._inbox.put(channel.encode() + peer, Arrival(Channel(channel), peer, speaker, frame), len(frame))

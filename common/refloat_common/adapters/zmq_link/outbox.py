"""Sends to many peers without waiting for any: what a slow one can't take now waits in a short queue of its own."""

from collections import deque
from typing import Final

import zmq
import zmq.asyncio

MAX_FRAMES_PER_PEER: Final = 64
MAX_PEERS: Final = 1024


class Outboxes:
    """The queues of one ROUTER socket. They hold nothing that the protocol would not send again."""

    def __init__(self, socket: zmq.asyncio.Socket) -> None:
        self._socket = socket
        self._queues: dict[bytes, deque[bytes]] = {}
        self.dropped = 0

    async def send(self, peer: bytes, frame: bytes) -> bool:
        """Send now, or queue behind what already waits; false if the peer is gone or its queue is full."""
        queue = self._queues.get(peer)
        if queue is not None:
            return self._queue(queue, frame)
        taken = await self._try(peer, frame)
        if taken is not None:
            return taken
        if len(self._queues) >= MAX_PEERS:
            self.dropped += 1
            return False
        return self._queue(self._queues.setdefault(peer, deque()), frame)

    async def flush(self) -> None:
        """Try each waiting peer's oldest frames."""
        for peer in list(self._queues):
            queue = self._queues[peer]
            while queue:
                taken = await self._try(peer, queue[0])
                if taken is None:
                    break
                if not taken:
                    self.dropped += len(queue)
                    queue.clear()
                    break
                queue.popleft()
            if not queue:
                del self._queues[peer]

    def _queue(self, queue: deque[bytes], frame: bytes) -> bool:
        if len(queue) >= MAX_FRAMES_PER_PEER:
            self.dropped += 1
            return False
        queue.append(frame)
        return True

    async def _try(self, peer: bytes, frame: bytes) -> bool | None:
        """Whether the socket took the frame; false if the peer is gone, None if it is full for now."""
        try:
            await self._socket.send_multipart([peer, frame], flags=zmq.NOBLOCK)
        except zmq.Again:
            return None
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            return False
        return True

"""Holds received frames until they are taken, a few for each peer, one peer after the other."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import anyio

T = TypeVar("T")

MAX_FRAMES_PER_PEER: Final = 64
MAX_BYTES_PER_PEER: Final = 4 << 20
MAX_BYTES: Final = 128 << 20


@dataclass(slots=True)
class _Queue(Generic[T]):
    frames: deque[tuple[T, int]] = field(default_factory=deque)
    size_bytes: int = 0


class Inbox(Generic[T]):
    """A bounded queue with one consumer. What does not fit is dropped and counted: its sender sends it again."""

    def __init__(self) -> None:
        self._queues: dict[bytes, _Queue[T]] = {}
        self._bytes = 0
        self._news = anyio.Event()
        self.dropped = 0

    def put(self, peer: bytes, item: T, size_bytes: int) -> None:
        """Add a frame of `peer`, or drop it where that peer, or all together, have too many waiting."""
        queue = self._queues.get(peer)
        waiting_bytes = queue.size_bytes if queue else 0
        full = queue is not None and len(queue.frames) >= MAX_FRAMES_PER_PEER
        if full or waiting_bytes + size_bytes > MAX_BYTES_PER_PEER or self._bytes + size_bytes > MAX_BYTES:
            self.dropped += 1
            return
        if queue is None:
            queue = self._queues[peer] = _Queue()
        queue.frames.append((item, size_bytes))
        queue.size_bytes += size_bytes
        self._bytes += size_bytes
        self._news.set()

    async def get(self) -> T:
        """The next frame: peers take turns. Cancelling loses none."""
        while not self._queues:
            self._news = anyio.Event()
            await self._news.wait()
        peer = next(iter(self._queues))
        queue = self._queues.pop(peer)
        item, size_bytes = queue.frames.popleft()
        queue.size_bytes -= size_bytes
        self._bytes -= size_bytes
        if queue.frames:
            self._queues[peer] = queue
        return item

    def __len__(self) -> int:
        return sum(len(queue.frames) for queue in self._queues.values())

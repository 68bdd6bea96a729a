"""Passes on what a commit changed, inside this process: nobody asks the store again and again whether it has grown."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import anyio

from refloat_host.adapters.store.queries.transaction import Changes

Stream: TypeAlias = tuple[str, str]
"""An event stream: queue and job set."""


class Signal:
    """A wake-up that is kept until somebody takes it; many become one."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        """Wake whoever waits, or who waits next."""
        self._event.set()

    async def wait(self) -> None:
        """Wait until set, and take it."""
        await self._event.wait()
        self._event = anyio.Event()


class News:
    """Who waits for what. `leasing` is set whenever a job or an executor may have become ready for a lease."""

    def __init__(self) -> None:
        self.leasing = Signal()
        self._readers: dict[Stream, list[Signal]] = {}

    def publish(self, changes: Changes) -> None:
        """Wake the readers of every stream that grew, and the leasing loop if a job was queued."""
        for stream in changes.streams:
            for reader in self._readers.get(stream, ()):
                reader.set()
        if changes.queued:
            self.leasing.set()

    @contextmanager
    def reading(self, stream: Stream) -> Iterator[Signal]:
        """A signal that is set at every growth of a stream, from before the reader first looks at the store."""
        signal = Signal()
        readers = self._readers.setdefault(stream, [])
        readers.append(signal)
        try:
            yield signal
        finally:
            readers.remove(signal)
            if not readers:
                self._readers.pop(stream, None)

"""Reads an open watch in blocks of whole lines."""

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from refloat_executor.core.cluster.reflector import WatchClosed
from refloat_executor.core.cluster.wire import Lines

MAX_LINE_BYTES = 16 << 20
"""etcd holds objects of 1.5 MiB; a line far beyond that is no object."""


class HttpWatch:
    """The response of a watch request.

    Lines are cut out of what has arrived rather than read one by one: a deadline round a single line would lose the
    half of it that was already taken, and a busy watch brings many at once.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._rest = b""

    async def next_block(self) -> Lines | WatchClosed:
        """At least one whole line; or how the watch ended."""
        try:
            while True:
                data = await self._response.content.readany()
                if not data:
                    return WatchClosed(cut=bool(self._rest))
                block = self._cut(data)
                if block is not None:
                    return block
                if len(self._rest) > MAX_LINE_BYTES:
                    return WatchClosed(cut=True)
        except (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError):
            return WatchClosed(cut=True)

    def _cut(self, data: bytes) -> Lines | None:
        """The whole lines among what is here, copied only where a line arrived in two pieces; None if there is none."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._rest += data
            return None
        whole, rest = memoryview(data), self._rest
        self._rest = data[end:]
        if not rest:
            return (whole[:end],)
        start = data.index(b"\n") + 1
        return (rest + data[:start], whole[start:end])

    def close(self) -> None:
        """End the watch."""
        # Not `release`: that would read on to the end of the stream, which has none.
        self._response.close()

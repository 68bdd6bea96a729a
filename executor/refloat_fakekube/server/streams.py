"""Writes one watch to a socket: what is there, what was missed, what happens, and bookmarks in between."""

import asyncio
from collections.abc import Callable, Iterator

from aiohttp import web

from refloat_fakekube.core.protocol.bodies import Shape, bookmark, change_line, error_line, shown_line
from refloat_fakekube.core.refusals import ExpiredError
from refloat_fakekube.core.store.records import event_line
from refloat_fakekube.core.store.requests import Watch
from refloat_fakekube.core.store.verbs.reading import Opened
from refloat_fakekube.server.hub import CHUNK_BYTES, Watcher

_TOO_OLD = "The resourceVersion for the provided watch is too old."


class Stream:
    """One open watch on one HTTP response."""

    def __init__(
        self, response: web.StreamResponse, request: Watch, shape: Shape, watcher: Watcher, now_s: Callable[[], float]
    ) -> None:
        self._response, self._request, self._shape, self._watcher = response, request, shape, watcher
        self._now_s = now_s

    async def run(self, opened: Opened, version: Callable[[], int], interval_s: float, timeout_s: float) -> None:
        """Serve the watch until its time is up, the client leaves, or it is cut."""
        await self._write(self._beginning(opened))
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + timeout_s
        marks_s = loop.time() + interval_s
        while not self._watcher.cut and loop.time() < ends_s:
            data = self._watcher.take()
            if data:
                await self._response.write(data)
                continue
            if loop.time() >= marks_s:
                if self._request.bookmarks:
                    await self._bookmark(version())
                marks_s = loop.time() + interval_s
            await self._pause(min(ends_s, marks_s) - loop.time())
        await self._finish(version())

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._watcher.wait()
        except TimeoutError:
            return

    def _beginning(self, opened: Opened) -> Iterator[bytes]:
        now_s = self._now_s()
        for stored in opened.shown:
            yield shown_line(stored, self._shape, now_s)
        if opened.marked and self._request.bookmarks:
            yield event_line("BOOKMARK", bookmark(self._shape.resource, opened.version, initial_end=True))
        for change in opened.missed:
            seen = change.seen_by(self._request.selector)
            if seen is not None:
                yield change_line(change, seen[0], self._shape, now_s)

    async def _write(self, lines: Iterator[bytes]) -> None:
        chunk: list[bytes] = []
        size = 0
        for line in lines:
            chunk.append(line)
            size += len(line)
            if size >= CHUNK_BYTES:
                await self._response.write(b"".join(chunk))
                chunk, size = [], 0
        if chunk:
            await self._response.write(b"".join(chunk))

    async def _bookmark(self, version: int) -> None:
        await self._response.write(event_line("BOOKMARK", bookmark(self._shape.resource, version)))

    async def _finish(self, version: int) -> None:
        """Whatever end was asked for; a watch whose time is up ends with a last bookmark."""
        if self._watcher.cut == "expired":
            await self._response.write(
                error_line(ExpiredError("The resourceVersion for the provided watch is too old."))
            )
        elif self._watcher.cut == "half":
            await self._response.write(b'{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metad')
        elif not self._watcher.cut and self._request.bookmarks:
            await self._bookmark(version)

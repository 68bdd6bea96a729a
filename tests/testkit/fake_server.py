"""A fake API server in a thread of its own, for tests that speak plain blocking HTTP."""

import asyncio
import random
import threading
from types import TracebackType
from typing import Self

from refloat_fakekube.server.run import Running, running_server
from refloat_fakekube.server.settings import ServerSettings

START_S = 10.0


class FakeServerThread:
    """`with FakeServerThread() as server:` serves at `server.url` until the block ends."""

    def __init__(self, settings: ServerSettings | None = None, seed: int = 0) -> None:
        self._settings, self._seed = settings or ServerSettings(), seed
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._running: Running | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        assert self._running is not None
        return self._running.url

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(START_S), "the fake server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_S)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with running_server(self._settings, random.Random(self._seed)) as running:
            self._running = running
            self._ready.set()
            await self._stop.wait()

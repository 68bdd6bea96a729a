"""Hands every change to the watchers that see it; each watcher has a bounded backlog of encoded lines."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator

from refloat_fakekube.core.protocol.bodies import Shape, change_line
from refloat_fakekube.core.selectors import Selector
from refloat_fakekube.core.store.records import Change

CHUNK_BYTES = 256 << 10
"""About how much is written to a socket at once."""


class Watcher:
    """One watch: what it picks, how it wants objects shown, and the lines it has not read yet.

    `cut` names how the stream is to be ended on purpose; empty while it goes on.
    """

    def __init__(self, selector: Selector, shape: Shape, limit_bytes: int) -> None:
        self.selector, self.shape = selector, shape
        self.cut = ""
        self._limit_bytes = limit_bytes
        self._lines: deque[bytes] = deque()
        self._size_bytes = 0
        self._wake = asyncio.Event()

    def offer(self, change: Change, now_s: float) -> None:
        """Queue the change's line if this watcher sees it."""
        seen = change.seen_by(self.selector)
        if seen is None or self.cut:
            return
        line = change_line(change, seen[0], self.shape, now_s)
        self._lines.append(line)
        self._size_bytes += len(line)
        if self._size_bytes > self._limit_bytes:
            self._lines.clear()
            self._size_bytes = 0
            self.end("eof")
        self._wake.set()

    def end(self, how: str) -> None:
        """End the stream: eof, reset, expired or half."""
        self.cut = self.cut or how
        self._wake.set()

    async def wait(self) -> None:
        """Return when there is something to write, or an end."""
        await self._wake.wait()

    def take(self) -> bytes:
        """The next lines, up to about one chunk; empty when nothing is queued."""
        lines: list[bytes] = []
        size = 0
        while self._lines and size < CHUNK_BYTES:
            line = self._lines.popleft()
            size += len(line)
            lines.append(line)
        self._size_bytes -= size
        if not self._lines and not self.cut:
            self._wake.clear()
        return b"".join(lines)

    @property
    def pending(self) -> bool:
        """Whether lines are queued."""
        return bool(self._lines)


class Hub:
    """All watchers by table. While `held`, changes are kept back: every watcher sees an old world.

    `version` is the newest one that was handed out: what a bookmark may promise.
    """

    def __init__(self) -> None:
        self.version = 0
        self._watchers: dict[str, dict[Watcher, None]] = {}
        self._held: list[Change] | None = None

    def join(self, table: str, watcher: Watcher) -> None:
        """Let a watcher see the changes of a table from now on."""
        self._watchers.setdefault(table, {})[watcher] = None

    def leave(self, table: str, watcher: Watcher) -> None:
        """Forget a watcher."""
        self._watchers.get(table, {}).pop(watcher, None)

    def publish(self, changes: Iterable[Change], now_s: float) -> None:
        """Hand out changes."""
        if self._held is not None:
            self._held.extend(changes)
            return
        for change in changes:
            self.version = change.version
            for watcher in self._watchers.get(change.table, ()):
                watcher.offer(change, now_s)

    def hold(self) -> None:
        """Keep changes back from now on."""
        self._held = self._held if self._held is not None else []

    def release(self, now_s: float) -> None:
        """Hand out what was kept back, and go on."""
        held, self._held = self._held, None
        self.publish(held or (), now_s)

    def cut(self, how: str, table: str = "") -> int:
        """End every watch, or those of one table; gives how many."""
        ended = list(self._of(table))
        for watcher in ended:
            watcher.end(how)
        return len(ended)

    def count(self) -> dict[str, int]:
        """How many watchers each table has."""
        return {table: len(watchers) for table, watchers in self._watchers.items() if watchers}

    def _of(self, table: str) -> Iterator[Watcher]:
        for name, watchers in self._watchers.items():
            if table in {"", name}:
                yield from watchers

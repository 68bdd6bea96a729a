"""Lets coroutines use the store: one thread commits what has queued up, a batch at a time.

Whoever waits shares one commit (group commit): at 4 ms a sync this is what makes thousands of transactions a second.
`InlineStore` is the same without a thread, for virtual time.
"""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import anyio
from anyio import to_thread

from refloat_host.adapters.store.database import Database, Done, Outcome, Raised, Work
from refloat_host.adapters.store.queries.transaction import Changes
from refloat_scheduler.service.contract import StoreUnavailable

T = TypeVar("T")

MAX_WORKS_PER_COMMIT = 256
MAX_WORKS_WAITING = 10_000
"""Beyond this the store is declared unavailable at once instead of growing a queue in memory."""

MAX_READS_AT_ONCE = 2
"""As many as `opening.READERS`."""


class Store(ABC):
    """The store, as coroutines see it. `on_commit` is called after each commit with what it changed.

    `trouble` says why the last commit was refused; it is empty while commits succeed.
    """

    def __init__(self, database: Database, on_commit: Callable[[Changes], None]) -> None:
        self.database = database
        self.trouble = ""
        self._on_commit = on_commit

    @abstractmethod
    async def run(self) -> None:
        """Commit what comes, until cancelled. `transact` needs it running.

        Raises:
            StoreBrokenError: what is on the disk is not known; the process must end.
        """

    @abstractmethod
    async def transact(self, work: Work[T]) -> T:
        """Run a work in a durable transaction and return what it returned, after the commit.

        Raises:
            StoreUnavailable: nothing was applied.
        """

    @abstractmethod
    async def read(self, work: Work[T]) -> T:
        """Run a work that only reads, beside the writer.

        Raises:
            StoreUnavailable: the database does not answer.
        """

    def _committed(self, outcomes: Sequence[Outcome[T]], changes: Changes) -> None:
        """Note how a batch ended, and pass on what it changed."""
        refused = [outcome.error for outcome in outcomes if isinstance(outcome, Raised)]
        unavailable = [error for error in refused if isinstance(error, StoreUnavailable)]
        self.trouble = str(unavailable[0]) if len(unavailable) == len(outcomes) else ""
        self._on_commit(changes)


class InlineStore(Store):
    """Commits at once, in the caller's own task. A kill can fall before or after the commit, never into it."""

    async def run(self) -> None:
        """There is nothing to run."""
        await anyio.sleep_forever()

    async def transact(self, work: Work[T]) -> T:
        """See `Store.transact`."""
        await anyio.lowlevel.checkpoint()
        outcomes, changes = self.database.execute([work])
        self._committed(outcomes, changes)
        await anyio.lowlevel.checkpoint()
        return _value(outcomes[0])

    async def read(self, work: Work[T]) -> T:
        """See `Store.read`."""
        await anyio.lowlevel.checkpoint()
        return self.database.read(work)


class _Waiting(Generic[T]):
    """One work on its way to the thread and back."""

    def __init__(self, work: Work[T]) -> None:
        self.work = work
        self.outcome: Outcome[T] | None = None
        self.settled = anyio.Event()


class ThreadedStore(Store):
    """Commits on one thread. `run` must be running for `transact` to get on.

    `observe` is told of each commit: how many works it held, and the seconds that it took.
    """

    def __init__(
        self,
        database: Database,
        on_commit: Callable[[Changes], None],
        observe: Callable[[int, float], None] = lambda _works, _seconds: None,
    ) -> None:
        super().__init__(database, on_commit)
        self._observe = observe
        self._waiting: deque[_Waiting[Any]] = deque()
        self._news = anyio.Event()
        self._closed = False
        self._readers = anyio.CapacityLimiter(MAX_READS_AT_ONCE)
        self._writer = anyio.CapacityLimiter(1)

    async def run(self) -> None:
        """Commit what comes until cancelled; what still waits then is refused."""
        try:
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                while self._waiting:
                    await self._commit_batch()
        finally:
            self._closed = True
            while self._waiting:
                self._settle(self._waiting.popleft(), Raised(StoreUnavailable("the host is stopping")))

    async def transact(self, work: Work[T]) -> T:
        """See `Store.transact`."""
        if self._closed:
            raise StoreUnavailable("the host is stopping")
        if len(self._waiting) >= MAX_WORKS_WAITING:
            raise StoreUnavailable(f"{MAX_WORKS_WAITING} transactions are waiting for it")
        waiting = _Waiting(work)
        self._waiting.append(waiting)
        self._news.set()
        await waiting.settled.wait()
        assert waiting.outcome is not None
        return _value(waiting.outcome)

    async def read(self, work: Work[T]) -> T:
        """See `Store.read`."""
        return await to_thread.run_sync(self.database.read, work, limiter=self._readers)

    async def _commit_batch(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_WORKS_PER_COMMIT))]
        works = [waiting.work for waiting in batch]
        begun_s = time.monotonic()
        try:
            with anyio.CancelScope(shield=True):
                outcomes, changes = await to_thread.run_sync(self.database.execute, works, limiter=self._writer)
        except BaseException:
            self._waiting.extendleft(reversed(batch))
            raise
        self._observe(len(works), time.monotonic() - begun_s)
        self._committed(outcomes, changes)
        for waiting, outcome in zip(batch, outcomes, strict=True):
            self._settle(waiting, outcome)

    @staticmethod
    def _settle(waiting: _Waiting[T], outcome: Outcome[T]) -> None:
        waiting.outcome = outcome
        waiting.settled.set()


def _value(outcome: Outcome[T]) -> T:
    match outcome:
        case Done(value=value):
            return value
        case Raised(error=error):
            raise error

"""The journal behind one thread: many wait, one commits.

Whoever appends waits for the next commit; all that has come together while the last one was being synced goes into it.
"""

import asyncio
import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from refloat_common.core.messages import Report
from refloat_executor.adapters.journal.opening import OpenJournal
from refloat_executor.adapters.journal.problems import JournalFullError
from refloat_executor.adapters.journal.sql import Loaded
from refloat_executor.core.ledger.values.records import Record

T = TypeVar("T")
MAX_JOBS_PER_TURN = 500


@dataclass(slots=True)
class _Append:
    """Records that wait for a commit, and who waits for them."""

    records: Sequence[Record]
    at_ms: int
    done: "asyncio.Future[None]"


@dataclass(slots=True)
class _Call:
    """Anything else, done between two commits."""

    work: Callable[[], object]
    done: "asyncio.Future[object]"


class ThreadedJournal:
    """The journal of a running daemon. Made inside the event loop in which it is used."""

    def __init__(self, opened: OpenJournal) -> None:
        self._opened = opened
        self.loaded: Loaded = opened.loaded
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[_Append | _Call | None] = queue.SimpleQueue()
        self._broken: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._thread.start()

    async def append(self, records: Sequence[Record], at_ms: int) -> None:
        """Write these records; they are synced when this returns.

        Raises:
            JournalFullError: no room; none of them was written.
            JournalBrokenError: the disk failed; the process must end.
        """
        done: asyncio.Future[None] = self._loop.create_future()
        self._jobs.put(_Append(records, at_ms, done))
        await done

    async def reports(self, first_seq: int, max_count: int, max_bytes: int) -> list[Report]:
        """Reports from `first_seq` on, without a gap."""
        return await self._call(lambda: self._opened.sql.reports(first_seq, max_count, max_bytes))

    async def prune(self, keep_from_ms: int, keep_bytes: int, acked_seq: int) -> None:
        """Drop what no start needs."""
        await self._call(lambda: self._opened.sql.prune(keep_from_ms, keep_bytes, acked_seq))

    async def sizes(self) -> tuple[int, int]:
        """Bytes in use, and the oldest sequence that is kept."""
        return await self._call(lambda: (self._opened.sql.used_bytes(), self._opened.sql.oldest_seq()))

    async def set_aside(self) -> None:
        """Close the journal and move its file away, so that the next start begins a new one."""
        await self._call(self._opened.set_aside)

    async def close(self) -> None:
        """Finish what was asked for, and close the file."""
        if self._thread.is_alive():
            self._jobs.put(None)
            await self._loop.run_in_executor(None, self._thread.join)

    async def _call(self, work: Callable[[], T]) -> T:
        done: asyncio.Future[object] = self._loop.create_future()
        self._jobs.put(_Call(work, done))
        return await done  # type: ignore[return-value]  # what `work` returns

    # ---- the thread

    def _work(self) -> None:
        while True:
            jobs = [self._jobs.get()]
            while len(jobs) < MAX_JOBS_PER_TURN and not self._jobs.empty():
                jobs.append(self._jobs.get())
            for _, together in itertools.groupby(jobs, key=type):
                turn = list(together)
                if any(job is None for job in turn):
                    self._opened.close()
                    return
                self._commit([job for job in turn if isinstance(job, _Append)])
                for job in turn:
                    if isinstance(job, _Call):
                        self._answer(job)

    def _commit(self, batch: Sequence[_Append]) -> None:
        records = [record for waiting in batch for record in waiting.records]
        error = self._broken
        if error is None and records:
            try:
                self._opened.sql.append(records, batch[0].at_ms)
            except JournalFullError as full:
                error = full
            except Exception as failure:  # noqa: BLE001  whoever waits gets it
                # A failed sync is not tried again: the pages may count as written though they are not.
                error = self._broken = failure
        for waiting in batch:
            self._tell(waiting.done, None, error)

    def _answer(self, call: _Call) -> None:
        result: object = None
        error: Exception | None = None
        try:
            result = call.work()
        except Exception as failure:  # noqa: BLE001  whoever waits gets it
            error = failure
        self._tell(call.done, result, error)

    def _tell(self, done: "asyncio.Future[T]", result: T, error: Exception | None) -> None:
        def settle() -> None:
            if done.done():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)

        try:
            self._loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

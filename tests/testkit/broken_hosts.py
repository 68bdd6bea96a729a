"""Ten hosts, each of which breaks one rule of the contract in a way that has happened to somebody.

Each is a factory for the conformance suite, which must find the fault: `--host-factory testkit.broken_hosts:NAME`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

from refloat_common.core.ids import ExecutorId, JournalId
from refloat_scheduler.core.effects import Effect, VerdictStored
from refloat_scheduler.core.events import Event
from refloat_scheduler.core.model import Job, JobState
from refloat_scheduler.service.contract import StoreUnavailable
from testkit.scheduling.memory import Contents, MemoryTransaction
from testkit.scheduling.subject import FiledHost, MemorySubject

T = TypeVar("T")
Broken = Callable[[Path], AbstractContextManager[MemorySubject]]


def _factory(host: type[FiledHost], subject: type[MemorySubject] = MemorySubject) -> Broken:
    @contextmanager
    def opened(folder: Path) -> Iterator[MemorySubject]:
        yield subject(host(folder))

    return opened


class _LosesUpdates(FiledHost):
    """Rule 1: works on a copy, and others run before it is put back."""

    def transact(self, work: Callable[[MemoryTransaction], T]) -> Awaitable[T]:
        async def transacted() -> T:
            if self.down:
                raise StoreUnavailable("it is down")
            self.check_leader()
            transaction = MemoryTransaction(self.contents.copied())
            result = work(transaction)
            await asyncio.sleep(0)
            self.keep(transaction.contents)
            self.contents = transaction.contents
            return result

        return transacted()


class _KeepsHalves(FiledHost):
    """Rule 2: what a work had applied before it raised stays."""

    def run(self, work: Callable[[MemoryTransaction], T]) -> T:
        if self.down:
            raise StoreUnavailable("it is down")
        self.check_leader()
        try:
            return work(MemoryTransaction(self.contents))
        finally:
            self.keep(self.contents)


class _WrapsExceptions(FiledHost):
    """Rule 2: what a work raises comes out as something else."""

    def run(self, work: Callable[[MemoryTransaction], T]) -> T:
        try:
            return super().run(work)
        except StoreUnavailable:
            raise
        except Exception as error:
            raise RuntimeError(f"the transaction failed: {error}") from error


class _WritesLater(FiledHost):
    """Rule 2: answers first, and writes to the disk when there is time."""

    def keep(self, contents: Contents) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            super().keep(contents)
        else:
            super().keep(self.contents if self.path.exists() else contents)
            loop.call_later(0.05, super().keep, contents)


class _StaleTransaction(MemoryTransaction):
    """Reads marks as they were when the transaction began."""

    def __init__(self, contents: Contents) -> None:
        super().__init__(contents)
        self._before = dict(contents.marks)

    def high_water(self, executor: ExecutorId, journal: JournalId) -> int:
        return self._before.get((executor, journal), 0)


class _ReadsStale(FiledHost):
    """Rule 3: a work does not see what it has applied itself."""

    def run(self, work: Callable[[MemoryTransaction], T]) -> T:
        def stale(transaction: MemoryTransaction) -> T:
            return work(_StaleTransaction(transaction.contents))

        return super().run(stale)


class _RefusesAfterTheFact(FiledHost):
    """Rule 4: says that nothing was applied, and has applied it."""

    def run(self, work: Callable[[MemoryTransaction], T]) -> T:
        down, self.down = self.down, False
        try:
            result = super().run(work)
        finally:
            self.down = down
        if down:
            raise StoreUnavailable("the answer to the commit was lost")
        return result


class _NeverStepsDown(FiledHost):
    """Rule 5: writes on after another host has taken over."""

    def check_leader(self) -> None:
        """It does not look."""


class _ForgetfulTransaction(MemoryTransaction):
    """Takes a later verdict over a run for the better one."""

    def apply(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, VerdictStored):
                self.contents.verdicts.pop(effect.explanation.run_id, None)
            super().apply([effect])


class _OverwritesVerdicts(FiledHost):
    """Rule 6: a second verdict over a run replaces the first."""

    def run(self, work: Callable[[MemoryTransaction], T]) -> T:
        def forgetful(transaction: MemoryTransaction) -> T:
            return work(_ForgetfulTransaction(transaction.contents))

        return super().run(forgetful)


class _LeasesWhateverIsQueued(FiledHost):
    """Rule 7: looks at the state of a job alone, and not at holds and claims."""

    def may_be_leased(self, job: Job) -> bool:
        return job.state is JobState.QUEUED


class _SortedStream(MemorySubject):
    """Rule 8: gives events in order of their times, as a table without a sequence does."""

    async def stream(self, queue: str, job_set: str) -> Sequence[Event]:
        return sorted(await super().stream(queue, job_set), key=lambda event: event.created_ms)


loses_updates = _factory(_LosesUpdates)
keeps_halves = _factory(_KeepsHalves)
wraps_exceptions = _factory(_WrapsExceptions)
writes_later = _factory(_WritesLater)
reads_stale = _factory(_ReadsStale)
refuses_after_the_fact = _factory(_RefusesAfterTheFact)
never_steps_down = _factory(_NeverStepsDown)
overwrites_verdicts = _factory(_OverwritesVerdicts)
leases_whatever_is_queued = _factory(_LeasesWhateverIsQueued)
sorts_its_stream = _factory(FiledHost, _SortedStream)

"""The host in memory as the conformance suite asks for one: with a file that its contents are found in again."""

import os
import pickle
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TypeVar

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Lease
from refloat_scheduler.core.effects import EventsAppended, LateReported, RunAdopted
from refloat_scheduler.core.events import Event, JobLeased, JobQueued, JobSubmitted
from refloat_scheduler.core.fit.requirements import requirements_of
from refloat_scheduler.core.model import Job, Run
from refloat_scheduler.service.contract import ExecutorView, PolicyDocument, StoreUnavailable
from testkit.scheduling.memory import Contents, MemoryHost, MemoryTransaction

T = TypeVar("T")


class FiledHost(MemoryHost):
    """The host in memory, with each commit written to a file before it is answered."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "contents"
        self.epoch = 1
        if self.path.exists():
            epoch, self.contents = self.stored()
            self.epoch = epoch + 1
        self.keep(self.contents)

    def stored(self) -> tuple[int, Contents]:
        """The epoch of the last host to open the file, and what is in it."""
        epoch, contents = pickle.loads(self.path.read_bytes())
        assert isinstance(contents, Contents)
        return epoch, contents

    def keep(self, contents: Contents) -> None:
        """Write everything, synced."""
        new = self.path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(pickle.dumps((self.epoch, contents)))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)

    def run(self, work: Callable[[MemoryTransaction], T]) -> T:
        """One transaction, if this host is the last one to have opened the file."""
        if self.down:
            raise StoreUnavailable("it is down")
        self.check_leader()
        transaction = MemoryTransaction(self.contents.copied())
        result = work(transaction)
        self.keep(transaction.contents)
        self.contents = transaction.contents
        return result

    def check_leader(self) -> None:
        """Refuse to go on if another host has opened the file since."""
        if self.stored()[0] != self.epoch:
            raise StoreUnavailable("another host has taken over")

    def may_be_leased(self, job: Job) -> bool:
        """Whether leasing takes a job."""
        return job.leasable


class MemorySubject:
    """A host in memory, and users."""

    def __init__(self, host: FiledHost) -> None:
        self.host = host
        self._numbers = count(1)

    async def put_policy(self, document: PolicyDocument) -> None:
        """See `Subject`."""
        others = [old for old in self.host.policies if old.name != document.name]
        self.host.policies = [*others, document]

    async def put_queue(self, name: str, retry_policies: Sequence[str]) -> None:
        """See `Subject`."""
        await self._change(lambda tx: tx.contents.queues.update({name: tuple(retry_policies)}))

    async def submit(self, queue: str, job_set: str, pod_spec: JsonObject) -> JobId:
        """See `Subject`."""
        job_id = JobId(f"job-{self.host.epoch}-{next(self._numbers):04}")
        job = Job(job_id=job_id, queue=queue, job_set=job_set, requirements=requirements_of(pod_spec))
        events = (
            JobSubmitted(job_id=job_id, job_set_id=job_set, queue=queue, created_ms=1),
            JobQueued(job_id=job_id, job_set_id=job_set, queue=queue, created_ms=1),
        )

        def work(tx: MemoryTransaction) -> None:
            tx.contents.jobs[job_id] = job
            tx.contents.specs[job_id] = pod_spec
            tx.apply([EventsAppended(events)])

        await self._change(work)
        return job_id

    async def lease_round(self, views: Sequence[ExecutorView]) -> Sequence[Lease]:
        """See `Subject`."""
        rooms = [view for view in views if view.may_lease for _ in range(view.free_slots)]

        def work(tx: MemoryTransaction) -> Sequence[Lease]:
            waiting = [job for job in tx.jobs(list(tx.contents.jobs)).values() if self.host.may_be_leased(job)]
            runs = [self._lease(tx, job, view.executor) for job, view in zip(waiting, rooms, strict=False)]
            return tx.leases(runs)

        return await self.host.transact(work)

    def _lease(self, tx: MemoryTransaction, job: Job, executor: ExecutorId) -> RunId:
        run_id = RunId(f"run-{self.host.epoch}-{next(self._numbers):04}")
        run = Run(run_id=run_id, job_id=job.job_id, ordinal=len(job.runs) + 1, executor=executor)
        leased = JobLeased(
            job_id=job.job_id,
            job_set_id=job.job_set,
            queue=job.queue,
            created_ms=1,
            run_id=run_id,
            cluster_id=executor,
            pool="default",
        )
        tx.apply([RunAdopted(run, job.queued_version + 1), EventsAppended((leased,))])
        return run_id

    async def stream(self, queue: str, job_set: str) -> Sequence[Event]:
        """See `Subject`."""
        events = self.host.contents.events
        return [event for event in events if (event.queue, event.job_set_id) == (queue, job_set)]

    async def verdict_of(self, job_id: JobId, run_id: RunId) -> JsonObject | None:
        """See `Subject`."""
        del job_id
        found = self.host.contents.verdicts.get(run_id)
        return None if found is None else found.to_json()

    async def late_reports_of(self, run_id: RunId) -> Sequence[LateReported]:
        """See `Subject`."""
        return [late for late in self.host.contents.late if late.run_id == run_id]

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """See `Subject`."""
        self.host.down = True
        try:
            yield
        finally:
            self.host.down = False

    def _change(self, work: Callable[[MemoryTransaction], None]) -> Awaitable[None]:
        return self.host.transact(work)


@contextmanager
def memory(folder: Path) -> Iterator[MemorySubject]:
    """A host in memory, whose contents are kept in a folder."""
    yield MemorySubject(FiledHost(folder))

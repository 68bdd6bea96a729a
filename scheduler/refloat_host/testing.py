"""A host for tests of the plugin and of whatever else talks to a host: its real store and services, no daemon.

`sqlite()` gives one on SQLite in memory, or in a folder, where it can also be left in the lurch and opened again. It is
a factory for the plugin's conformance suite: `--host-factory refloat_host.testing:sqlite`.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from refloat_common.adapters.clock import SystemChance, SystemClock
from refloat_common.core.clock import Chance, Clock
from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import MAX_LEASES_PER_MESSAGE, Lease
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.opening import Opened, open_memory, open_store
from refloat_host.adapters.store.queries import inspection
from refloat_host.adapters.store.queries.transaction import Changes, SqlTransaction
from refloat_host.adapters.store.writer import InlineStore
from refloat_host.core.errors import FailedPreconditionError, NotFoundError
from refloat_host.core.grants import grant
from refloat_host.core.queues import Queue
from refloat_host.core.submission import Submission
from refloat_host.services.events import EventService
from refloat_host.services.host import StoreHost
from refloat_host.services.jobs import JobService
from refloat_host.services.leasing.fits import FitCache
from refloat_host.services.leasing.loop import LeasingService, Limits
from refloat_host.services.news import News
from refloat_host.services.policies import PolicyService
from refloat_host.services.queues import QueueService
from refloat_scheduler.core.effects import LateReported
from refloat_scheduler.core.events import Event
from refloat_scheduler.service.contract import ExecutorView, PolicyDocument

NODE_ID_LABEL = "kubernetes.io/hostname"


@dataclass(slots=True)
class _Offered:
    """The plugin's side of one round of leasing: executors as they were given, and what was offered to them."""

    views: Sequence[ExecutorView]
    leases: list[Lease] = field(default_factory=list)

    def executors(self) -> Sequence[ExecutorView]:
        """As they were given."""
        return self.views

    def offer(self, executor: ExecutorId, leases: Sequence[Lease]) -> None:
        """Note the offer."""
        del executor
        self.leases += leases


class HostUnderTest:
    """A host: `host` is what the plugin sees, the services are what users see.

    The methods after `lease` are what the conformance suite asks for (`refloat_scheduler.conformance.subject`).
    """

    def __init__(self, database: Database, opened: Opened, clock: Clock, chance: Chance) -> None:
        self.database = database
        self.clock = clock
        self.chance = chance
        self.news = News()
        self.killed: list[tuple[ExecutorId, tuple[RunId, ...], str]] = []
        self.store = InlineStore(database, self._committed)
        self._opened = opened
        self._fits = FitCache()
        self.host = StoreHost(self.store, self.news)
        self.queues = QueueService(self.store, clock)
        self.policies = PolicyService(self.store, clock)
        self.jobs = JobService(
            self.store, clock, chance, lambda executor, runs, why: self.killed.append((executor, tuple(runs), why))
        )
        self.events = EventService(self.store, self.news)

    async def lease(self, job_id: JobId, executor: ExecutorId, pool: str = "default") -> Lease:
        """Lease a job to an executor, as the leasing loop would; gives what the executor is to be offered.

        Raises:
            NotFoundError: there is no such job.
            FailedPreconditionError: it is not leasable.
        """
        run_id, now_ms = RunId(self.chance.uuid7()), self.clock.utc_ms()

        def work(tx: SqlTransaction) -> Lease:
            job = tx.jobs([job_id]).get(job_id)
            if job is None:
                raise NotFoundError("job", job_id)
            if not job.leasable:
                raise FailedPreconditionError(f"job {job_id} is not leasable: it is {job.state}")
            tx.apply(grant(job, run_id, executor, pool, now_ms))
            return tx.leases([run_id])[0]

        return await self.store.transact(work)

    async def put_policy(self, document: PolicyDocument) -> None:
        """Store a retry policy."""
        await self.policies.create({**document.body, "name": document.name})

    async def put_queue(self, name: str, retry_policies: Sequence[str]) -> None:
        """Store a queue with these policies."""
        await self.queues.create(Queue(name=name, retry_policies=tuple(retry_policies)))

    async def submit(self, queue: str, job_set: str, pod_spec: JsonObject) -> JobId:
        """Take a job."""
        [submitted] = await self.jobs.submit(queue, job_set, [Submission(pod_spec=pod_spec)])
        return submitted.job_id

    async def lease_round(self, views: Sequence[ExecutorView]) -> Sequence[Lease]:
        """Look once at these executors, and give what would be offered to them."""
        offered = _Offered(views)
        limits = Limits(max_unacknowledged=MAX_LEASES_PER_MESSAGE, look_again_after_s=1.0)
        leasing = LeasingService(
            self.store, offered, self.clock, self.chance, self.news, self._fits, limits, lambda *_: None
        )
        await leasing.round()
        return offered.leases

    async def stream(self, queue: str, job_set: str) -> Sequence[Event]:
        """The first events of a job set, as many as one answer holds."""
        return [message.event for message in await self.events.read(queue, job_set)]

    async def verdict_of(self, job_id: JobId, run_id: RunId) -> JsonObject | None:
        """The stored explanation of a verdict."""
        found = await self.store.read(lambda tx: inspection.verdicts_of(tx.connection, job_id))
        return found.get(run_id)

    async def late_reports_of(self, run_id: RunId) -> Sequence[LateReported]:
        """The reports of a run that came too late."""
        return await self.store.read(lambda tx: inspection.late_reports_of(tx.connection, [run_id]))

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Let SQLite refuse every write, as on a disk that has become read-only."""
        self._pragma("query_only = ON")
        try:
            yield
        finally:
            self._pragma("query_only = OFF")

    def _pragma(self, pragma: str) -> None:
        connection = self._opened.writer.raw_connection()
        connection.cursor().execute(f"PRAGMA {pragma}")
        connection.close()

    def _committed(self, changes: Changes) -> None:
        self._fits.forget(changes.nodes)
        self.news.publish(changes)


@contextmanager
def sqlite(
    folder: Path | None = None, clock: Clock | None = None, chance: Chance | None = None
) -> Iterator[HostUnderTest]:
    """A host on SQLite: in memory, or in `store.db` in a folder, where an earlier one's work is found again."""
    connection: sqlite3.Connection | None = None
    if folder is None:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        opened = open_memory(connection)
    else:
        opened = open_store(f"sqlite:///{folder / 'store.db'}")
    try:
        yield _host(opened, clock or SystemClock(), chance or SystemChance(), fresh=folder is None)
    finally:
        opened.close()
        if connection is not None:
            connection.close()


def _host(opened: Opened, clock: Clock, chance: Chance, *, fresh: bool) -> HostUnderTest:
    database = Database.take_over(
        opened, generation=chance.uuid7(), now_ms=clock.utc_ms(), node_id_label=NODE_ID_LABEL, fresh=fresh
    )
    return HostUnderTest(database, opened, clock, chance)

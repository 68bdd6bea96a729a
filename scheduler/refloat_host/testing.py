"""A host for tests of the plugin and of whatever else talks to a host: its real store and services, no daemon.

`sqlite()` gives one on SQLite in memory, or in a folder, where it can also be left in the lurch and opened again.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from refloat_common.adapters.clock import SystemChance, SystemClock
from refloat_common.core.clock import Chance, Clock
from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.messages import Lease
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.opening import Opened, open_memory, open_store
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.writer import InlineStore
from refloat_host.core.errors import FailedPreconditionError, NotFoundError
from refloat_host.core.grants import grant
from refloat_host.services.events import EventService
from refloat_host.services.host import StoreHost
from refloat_host.services.jobs import JobService
from refloat_host.services.news import News
from refloat_host.services.policies import PolicyService
from refloat_host.services.queues import QueueService

NODE_ID_LABEL = "kubernetes.io/hostname"


class HostUnderTest:
    """A host: `host` is what the plugin sees, the services are what users see."""

    def __init__(self, database: Database, clock: Clock, chance: Chance) -> None:
        self.database = database
        self.clock = clock
        self.chance = chance
        self.news = News()
        self.killed: list[tuple[ExecutorId, tuple[RunId, ...], str]] = []
        self.store = InlineStore(database, self.news.publish)
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
    return HostUnderTest(database, clock, chance)

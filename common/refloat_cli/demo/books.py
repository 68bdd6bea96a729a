"""The demo's hand in the host's store: puts queues, policies and jobs in before the host starts, and reads the event
stream and the verdicts beside it while it runs.
"""  # noqa: D205  one sentence

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import anyio
import msgspec
from sqlalchemy import Connection, Engine, create_engine, select

from refloat_cli.demo.scenario import PlannedJob, Scenario
from refloat_common.adapters.clock import SystemChance, SystemClock
from refloat_common.core.ids import JobId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Report, ReportKind
from refloat_executor.adapters.journal.sql import SqlJournal
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.opening import open_store
from refloat_host.adapters.store.queries import stream
from refloat_host.adapters.store.tables import verdicts
from refloat_host.adapters.store.writer import ThreadedStore
from refloat_host.core.queues import Queue
from refloat_host.core.submission import Submission
from refloat_host.services.jobs import JobService
from refloat_host.services.news import News
from refloat_host.services.policies import PolicyService
from refloat_host.services.queues import QueueService
from refloat_scheduler.core.events import Event

_object: "msgspec.json.Decoder[JsonObject]" = msgspec.json.Decoder()
JOB_SET = "demo"
PAGE = 500
MAX_REPORTS = 1 << 30
MAX_BYTES = 1 << 40


async def fill_store(path: Path, scenario: Scenario, planned: Sequence[PlannedJob]) -> dict[JobId, str]:
    """Make the store and put everything in, by the services that the management API calls; the jobs' names by id.

    Raises:
        RequestRefusedError: the host refuses something of the scenario.
    """
    clock, chance, news = SystemClock(), SystemChance(), News()
    opened = open_store(f"sqlite:///{path}")
    database = Database.take_over(
        opened, generation=chance.uuid7(), now_ms=clock.utc_ms(), node_id_label="kubernetes.io/hostname"
    )
    store = ThreadedStore(database, news.publish)
    names: dict[JobId, str] = {}
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.run)
            policies, queues = PolicyService(store, clock), QueueService(store, clock)
            for document in scenario.policies:
                await policies.create(cast("JsonObject", document))
            for queue in scenario.queues:
                attached = (queue.policy,) if queue.policy else ()
                await queues.create(Queue(name=queue.name, retry_policies=attached))
            jobs = JobService(store, clock, chance, kill=lambda _executor, _runs, _reason: None)
            for name in dict.fromkeys(job.queue for job in planned):
                mine = [job for job in planned if job.queue == name]
                submitted = await jobs.submit(name, JOB_SET, [_submission(job) for job in mine])
                names |= {one.job_id: job.name for one, job in zip(submitted, mine, strict=True)}
            tasks.cancel_scope.cancel()
    finally:
        database.close()
    return names


def _submission(job: PlannedJob) -> Submission:
    return Submission(pod_spec=job.pod_spec(), namespace=job.namespace, client_id=job.name, annotations=job.annotations)


@dataclass(slots=True)
class Reader:
    """Reads a SQLite store beside its host; never writes."""

    engine: Engine
    queues: Sequence[str]
    after: dict[str, int]

    @classmethod
    def open(cls, path: Path, queues: Sequence[str]) -> "Reader":
        """A reader of the event streams of these queues, from the beginning."""
        return cls(create_engine(f"sqlite:///file:{path}?mode=ro&uri=true"), queues, dict.fromkeys(queues, 0))

    def news(self) -> list[Event]:
        """The events since the last call, in order within each queue."""
        found: list[Event] = []
        with self.engine.connect() as connection:
            for queue in self.queues:
                found.extend(self._page(connection, queue))
        return found

    def explanations(self, job_id: JobId) -> list[JsonObject]:
        """Why each verdict over a job came out as it did, the oldest first."""
        query = select(verdicts.c.explanation).where(verdicts.c.job_id == job_id).order_by(verdicts.c.decided_at_ms)
        with self.engine.connect() as connection:
            texts = connection.execute(query).scalars().all()
        return [_object.decode(text) for text in texts]

    def close(self) -> None:
        """Close the file."""
        self.engine.dispose()

    def _page(self, connection: Connection, queue: str) -> list[Event]:
        found: list[Event] = []
        while page := stream.job_set_events(connection, queue, JOB_SET, self.after[queue], PAGE):
            found.extend(message.event for message in page)
            self.after[queue] = page[-1].message_id
        return found


def failures_in(journal: Path) -> list[Report]:
    """The reports of failed runs in the journal of an executor that has ended."""
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        sql = SqlJournal(connection)
        reports = sql.reports(sql.oldest_seq(), MAX_REPORTS, MAX_BYTES)
    return [report for report in reports if report.kind is ReportKind.FAILED]


def by_name(names: Mapping[JobId, str], job: str) -> JobId | None:
    """The id of a job that is given by its name in the scenario; None if there is none of that name."""
    return next((job_id for job_id, name in names.items() if name == job), None)

"""What a batch costs: as many statements with 5,000 jobs in the store as with 200, each of them through an index."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import Connection, Engine, event

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.queries import waiting
from refloat_host.adapters.store.queries.catalog import put_queue
from refloat_host.adapters.store.queries.jobs import list_jobs, unfinished
from refloat_host.adapters.store.queries.stream import job_set_events
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.core.queues import Queue
from refloat_scheduler.core.effects import (
    Effect,
    EventsAppended,
    HighWaterMoved,
    JobRequeued,
    RunChanged,
    VerdictStored,
)
from refloat_scheduler.core.explanation import Explanation, Gate
from refloat_scheduler.core.model import MutationRecord, Requirements, RunState
from testkit.host.stores import memory_database
from testkit.host.values import EXECUTOR, applied, done, job, leased, queued, stored

BATCH = 64


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """The SQL that is sent meanwhile, without the begin and the commit."""
    seen: list[str] = []
    engine: Engine = database._opened.writer

    def note(_c: Connection, _cursor: object, statement: str, _p: object, _context: object, _many: object) -> None:
        if not statement.startswith(("BEGIN", "COMMIT")):
            seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


def filled(database: Database, count: int) -> None:
    """A store with this many jobs, the first `BATCH` of them leased."""
    done(database, lambda tx: put_queue(tx.connection, Queue(name="q"), 1))
    stored(database, [job(number) for number in range(1, count + 1)])
    for number in range(1, BATCH + 1):
        applied(database, leased(job(number), number))


def fail(tx: SqlTransaction) -> None:
    """What a batch of reported failures reads and writes, each of them retried."""
    tx.high_water(EXECUTOR, JournalId("j"))
    found = tx.jobs_of_runs([RunId(f"run-{number:03}") for number in range(1, BATCH + 1)])
    effects: list[Effect] = []
    for run_id, each in found.items():
        run = each.runs[-1]
        effects += [
            RunChanged(replace(run, state=RunState.FAILED)),
            VerdictStored(Explanation(run_id=run_id, job_id=each.job_id, retry=True, gate=Gate.PASSED)),
            EventsAppended((queued(each),)),
            JobRequeued(
                job_id=each.job_id,
                queued_version=each.queued_version + 1,
                record=MutationRecord(),
                requirements=Requirements(),
            ),
        ]
    tx.apply([*effects, HighWaterMoved(EXECUTOR, JournalId("j"), BATCH)])


def lease(tx: SqlTransaction) -> None:
    """What a leasing round reads and writes."""
    waiting.lines(tx.connection)
    heads = waiting.heads(tx.connection, {"q": waiting.FRONT}, BATCH)["q"]
    jobs = tx.jobs([head.job_id for head in heads])
    tx.apply([effect for n, each in enumerate(jobs.values()) for effect in leased(each, 900 + n)])
    tx.leases([RunId(f"run-{900 + n:03}") for n in range(len(jobs))])


@pytest.mark.parametrize(("work", "limit"), [(fail, 13), (lease, 12)])
def test_the_number_of_statements_does_not_grow(work: Callable[[SqlTransaction], None], limit: int) -> None:
    sent: list[list[str]] = []
    for count in (3 * BATCH, 5000):
        with memory_database() as database:
            filled(database, count)
            with statements(database) as seen:
                done(database, work)
            sent.append(seen)
    assert sent[0] == sent[1]
    assert len(sent[0]) <= limit, "\n".join(sent[0])


def read_everything(tx: SqlTransaction) -> None:
    """Every query of the hot paths once."""
    fail(tx)
    lease(tx)
    tx.jobs([JobId("job-001")])
    tx.active_jobs(EXECUTOR, RunId(""), 10)
    tx.active_counts()
    tx.held_jobs(EXECUTOR, JobId(""), 10)
    tx.queue_policies("q")
    tx.nodes(ExecutorId("e"))
    waiting.any_waiting(tx.connection)
    waiting.unfinished_jobs(tx.connection, "q")
    unfinished(tx.connection, "q", "s")
    list_jobs(tx.connection, "q", "s", JobId(""), 10)
    job_set_events(tx.connection, "q", "s", 3, 10)


def plan(connection: Connection, statement: str) -> Sequence[str]:
    """SQLite's plan, a line per step. Parameters are left empty, so the plan can't lean on their values."""
    parameters = dict.fromkeys(range(statement.count("?")), None)
    rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(parameters.values()))
    return [row.detail for row in rows]


def test_no_hot_query_walks_through_a_table() -> None:
    with memory_database() as database:
        filled(database, 500)
        with statements(database) as seen:
            done(database, read_everything)
        queries = sorted({query for query in seen if query.startswith(("SELECT", "UPDATE jobs"))})
        assert len(queries) > 12
        steps = database.read(lambda tx: {query: plan(tx.connection, query) for query in queries})
    walks = [f"{step} IN {query}" for query, found in steps.items() for step in found if step.startswith("SCAN")]
    assert [walk for walk in walks if not allowed(walk)] == []
    of_queues = {
        step.split(" USING ")[-1].split(" (")[0]
        for query, found in steps.items()
        for step in found
        if step.startswith("SEARCH jobs") and "queue=?" in step
    }
    assert of_queues == {"INDEX ix_jobs_queued", "INDEX ix_jobs_leased", "COVERING INDEX ix_jobs_job_set"}


def allowed(step: str) -> bool:
    """Walks that are short: over the queues, over the unfinished runs' own index, over a query's own result."""
    return step.split()[1] in ("queues", "anon_1") or "USING INDEX ix_runs_active" in step

"""Reads from a transaction what the core decides on: the jobs behind reports and listed runs, the rules in force."""

from collections.abc import Iterable, Mapping, Sequence

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.messages import CAPABILITY_DELETE_ACTION, RunEntry
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.model import Job
from refloat_scheduler.core.policies.compiled import CompiledPolicy
from refloat_scheduler.core.reconcile.world import Batch, Rules, World, world_of
from refloat_scheduler.core.retry.gates import RetrySettings
from refloat_scheduler.service.contract import Transaction


def world_of_batches(transaction: Transaction, batches: Sequence[Batch]) -> World:
    """The jobs that these batches are about, and how far each journal is applied."""
    named = {RunId(report.run): JobId(report.job) for batch in batches for report in batch.reports}
    marks = {
        (batch.executor, batch.journal): transaction.high_water(batch.executor, batch.journal) for batch in batches
    }
    return world_of(_jobs(transaction, named), marks)


def world_of_entries(transaction: Transaction, entries: Sequence[RunEntry]) -> World:
    """The jobs of the runs that an executor lists."""
    return world_of(_jobs(transaction, {RunId(entry.run): JobId(entry.job) for entry in entries}), {})


def _jobs(transaction: Transaction, named: Mapping[RunId, JobId]) -> dict[JobId, Job]:
    """The jobs of the known runs; for the others, the jobs that they are said to belong to."""
    found = transaction.jobs_of_runs(list(named))
    jobs = {job.job_id: job for job in found.values()}
    others = [job for run, job in named.items() if run not in found and job not in jobs]
    return jobs | dict(transaction.jobs(others)) if others else jobs


def rules_for(
    transaction: Transaction,
    jobs: Iterable[Job],
    policies: Mapping[str, CompiledPolicy],
    settings: RetrySettings,
    fleet: Fleet,
    now_ms: int,
    speakers: Iterable[ExecutorId] = (),
) -> Rules:
    """The rules for verdicts over these jobs, as they stand in this transaction; `speakers` are who sent the news."""
    jobs = list(jobs)
    queues = sorted({job.queue for job in jobs})
    executors = sorted({*speakers, *(run.executor for job in jobs for run in job.runs[-1:])})
    return Rules(
        policies=policies,
        settings=settings,
        probe=fleet.can_ever_fit,
        queue_policies={queue: transaction.queue_policies(queue) for queue in queues},
        incapable=frozenset(name for name in executors if not _capable(transaction, name)),
        now_ms=now_ms,
    )


def _capable(transaction: Transaction, executor: ExecutorId) -> bool:
    """Whether an executor removes the pods of Delete categories before it reports (specification, rollout guide)."""
    record = transaction.executor_record(executor)
    return record is not None and CAPABILITY_DELETE_ACTION in record.capabilities

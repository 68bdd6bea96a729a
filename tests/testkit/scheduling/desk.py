"""Reports put to the core over the store in memory, as the plugin's intake does it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from refloat_common.core.ids import ExecutorId, JournalId, RunId
from refloat_common.core.messages import Report, RunEntry, RunStatus
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.events import Event, JobFailed
from refloat_scheduler.core.leases.expiry import expire_page
from refloat_scheduler.core.leases.hello import Judged, judge
from refloat_scheduler.core.model import Job, JobState, Run
from refloat_scheduler.core.reconcile.batch import reconcile
from refloat_scheduler.core.reconcile.world import Batch, Outcome, Rules
from refloat_scheduler.service.reading import world_of_batches, world_of_entries
from testkit.scheduling.makers import EXECUTOR, JOB, policy_of, rule, rules_of
from testkit.scheduling.memory import MemoryHost, MemoryTransaction

JOURNAL = JournalId("journal-1")
RETRY_OOM = policy_of(rule("Retry", "oom"), limit=3)


@dataclass(slots=True)
class Desk:
    """A store with one job, and the rules in force."""

    job: Job
    rules: Rules = field(default_factory=lambda: rules_of(RETRY_OOM))
    host: MemoryHost = field(default_factory=MemoryHost)

    def __post_init__(self) -> None:
        contents = self.host.contents
        contents.jobs[self.job.job_id] = self.job
        contents.queues["queue-a"] = ("p",)
        contents.executors[EXECUTOR] = ExecutorRecord(executor=EXECUTOR, capabilities=("delete_action",))

    def now(self) -> Job:
        """The job as it is stored."""
        return self.host.run(lambda transaction: transaction.jobs([JOB])[JOB])

    def report(self, *reports: Report, first_seq: int | None = None, executor: ExecutorId = EXECUTOR) -> Outcome:
        """A batch of reports, by default the next ones of the journal."""

        def work(transaction: MemoryTransaction) -> Outcome:
            have = transaction.high_water(executor, JOURNAL)
            batch = Batch(executor, JOURNAL, have + 1 if first_seq is None else first_seq, reports)
            _, outcome = reconcile(world_of_batches(transaction, [batch]), (batch,), self.rules)
            transaction.apply(outcome.effects)
            return outcome

        return self.host.run(work)

    def list_runs(self, *entries: RunEntry, executor: ExecutorId = EXECUTOR) -> Judged:
        """What an executor says in HELLO that it holds."""

        def work(transaction: MemoryTransaction) -> Judged:
            world = world_of_entries(transaction, entries)
            _, judged = judge(world, executor, entries, self.rules.now_ms, transaction.claims(executor))
            transaction.apply(judged.outcome.effects)
            return judged

        return self.host.run(work)

    def expire(self, executor: ExecutorId = EXECUTOR) -> Outcome:
        """Expire what the executor holds."""

        def work(transaction: MemoryTransaction) -> Outcome:
            outcome = expire_page(transaction.active_jobs(executor, RunId(""), 500), self.rules)
            transaction.apply(outcome.effects)
            return outcome

        return self.host.run(work)

    def lease(self, run: Run) -> None:
        """Lease the queued job to a run, as a host does."""
        job = self.now()
        assert job.leasable
        self.host.contents.jobs[JOB] = _leased(job, run)

    def told(self) -> list[str]:
        """The names of the public events so far, failed ones with what they say of a retry."""
        return [_name(event) for event in self.host.contents.events]


def _name(event: Event) -> str:
    if isinstance(event, JobFailed):
        return "failed(retryable)" if event.retryable else "failed(final)"
    return event.NAME


def _leased(job: Job, run: Run) -> Job:
    return replace(job, state=JobState.LEASED, queued_version=job.queued_version + 1, runs=(*job.runs, run))


def entry_of(run: str, status: RunStatus = RunStatus.ACTIVE, job: str = JOB) -> RunEntry:
    """One run that an executor holds."""
    return RunEntry(run=run, job=job, status=status, uid=f"uid-{run}")


def batches_of(reports: Sequence[Report], size: int) -> list[tuple[Report, ...]]:
    """Reports in batches of a size."""
    return [tuple(reports[i : i + size]) for i in range(0, len(reports), size)]

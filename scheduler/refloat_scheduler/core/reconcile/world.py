"""What a batch of news is reconciled with, and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from refloat_common.core.ids import ExecutorId, JobId, JournalId, RunId
from refloat_common.core.messages import Report
from refloat_scheduler.core.effects import Effect
from refloat_scheduler.core.model import Job, Run
from refloat_scheduler.core.policies.compiled import CompiledPolicy
from refloat_scheduler.core.retry.changes import Probe
from refloat_scheduler.core.retry.gates import RetrySettings
from refloat_scheduler.core.retry.settle import Circumstances
from refloat_scheduler.core.signals import Note, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What verdicts follow, one snapshot for a whole transaction: policies, settings, fleet, time in UTC ms.

    `queue_policies` holds every queue that is asked about; a queue that is unknown is missing or None.
    `incapable`: executors whose hello lacks the capability `delete_action`.
    """

    policies: Mapping[str, CompiledPolicy]
    settings: RetrySettings
    probe: Probe
    queue_policies: Mapping[str, tuple[str, ...] | None]
    incapable: frozenset[ExecutorId] = frozenset()
    now_ms: int = 0

    def circumstances(self, job: Job, executor: ExecutorId) -> Circumstances:
        """What a verdict over a run of this job on this executor depends on."""
        return Circumstances(
            queue_policies=self.queue_policies.get(job.queue),
            policies=self.policies,
            settings=self.settings,
            probe=self.probe,
            capable=executor not in self.incapable,
            now_ms=self.now_ms,
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive reports of one executor's journal, the first of them with sequence `first_seq`."""

    executor: ExecutorId
    journal: JournalId
    first_seq: int
    reports: tuple[Report, ...]


@dataclass(frozen=True, slots=True)
class World:
    """The jobs that the news is about, with their run histories, and how far each journal is applied.

    `job_of_run` knows every run of these jobs that the store knows.
    """

    jobs: Mapping[JobId, Job] = field(default_factory=dict)
    job_of_run: Mapping[RunId, JobId] = field(default_factory=dict)
    high_water: Mapping[tuple[ExecutorId, JournalId], int] = field(default_factory=dict)

    def find(self, run_id: RunId) -> tuple[Job, Run] | None:
        """A run and its job; None if the store does not know the run."""
        job_id = self.job_of_run.get(run_id)
        job = None if job_id is None else self.jobs.get(job_id)
        run = next((run for run in job.runs if run.run_id == run_id), None) if job else None
        return (job, run) if job is not None and run is not None else None

    def having(self, job: Job) -> "World":
        """The world after a job has changed."""
        known = {run.run_id: job.job_id for run in job.runs if run.run_id not in self.job_of_run}
        job_of_run = {**self.job_of_run, **known} if known else self.job_of_run
        return replace(self, jobs={**self.jobs, job.job_id: job}, job_of_run=job_of_run)


def world_of(jobs: Mapping[JobId, Job], high_water: Mapping[tuple[ExecutorId, JournalId], int]) -> World:
    """The world that these jobs make up."""
    return World(jobs, {run.run_id: job.job_id for job in jobs.values() for run in job.runs}, high_water)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What news leads to. `requeued` names the queues in which jobs wait anew, `room` the executors that have room.

    `skipped`: reports that could not be applied as they came (sequence and code); the executor is told, once.
    """

    effects: tuple[Effect, ...] = ()
    notes: tuple[Note, ...] = ()
    samples: tuple[Sample, ...] = ()
    requeued: tuple[str, ...] = ()
    room: tuple[ExecutorId, ...] = ()
    skipped: tuple[tuple[int, str], ...] = ()

    def then(self, later: "Outcome") -> "Outcome":
        """Both, this one first."""
        return Outcome(
            effects=self.effects + later.effects,
            notes=self.notes + later.notes,
            samples=self.samples + later.samples,
            requeued=self.requeued + later.requeued,
            room=self.room + later.room,
            skipped=self.skipped + later.skipped,
        )


NOTHING_TO_DO = Outcome()

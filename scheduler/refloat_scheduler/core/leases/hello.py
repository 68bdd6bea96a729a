"""What is said to an executor about the runs that it holds, and to which epoch its session belongs.

Verdicts (reliability, section 4.6 and rules 3, 5, 13): a run that is current here and there is kept; a run that is
over here is killed; a run that the store has never heard of is kept running as a claim, or adopted by its queued job,
because a restored store must not kill what it has forgotten.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from refloat_common.core.ids import ExecutorId, JobId, JournalId, PodUid, RunId
from refloat_common.core.messages import Hello, RunEntry, RunStatus, RunVerdict, Verdict
from refloat_scheduler.core.effects import ClaimDropped, ClaimStored, ExecutorRecord, RunChanged
from refloat_scheduler.core.model import Claim, Job, JobState, Run
from refloat_scheduler.core.reconcile.batch import adopt
from refloat_scheduler.core.reconcile.consequences import with_run
from refloat_scheduler.core.reconcile.world import NOTHING_TO_DO, Outcome, World
from refloat_scheduler.core.signals import Level, Note


def next_epoch(record: ExecutorRecord | None, last_seen: int) -> int:
    """The epoch of a new session: above all that the store knows and all that the executor has seen.

    The store may have gone back in time; the executor has not.
    """
    return max(record.last_epoch if record else 0, last_seen) + 1


def greeted_record(record: ExecutorRecord | None, hello: Hello, now_ms: int) -> ExecutorRecord:
    """What is stored of an executor that said HELLO."""
    known = record or ExecutorRecord(executor=ExecutorId(hello.executor))
    return replace(
        known,
        last_epoch=next_epoch(record, hello.last_epoch),
        pool=hello.pool,
        journal=JournalId(hello.journal),
        capabilities=tuple(sorted(hello.capabilities)),
        node_id_label=hello.node_id_label,
        last_seen_at_ms=now_ms,
        runs_expired_at_ms=0,
    )


def store_went_back(record: ExecutorRecord | None, hello: Hello, have: int) -> Note | None:
    """An alert if the executor has seen more than the store holds: a backup was restored (reliability, section 5.7).

    `have` is the last committed report of the journal that the HELLO names. Nothing needs to be done by hand: the
    executor sends its reports again from `have`, and forgotten runs are adopted or claimed.
    """
    if hello.acked_seq <= have and hello.last_epoch <= (record.last_epoch if record else 0):
        return None
    text = (
        f"the store has gone back: executor {hello.executor} was told of report {hello.acked_seq} and epoch "
        f"{hello.last_epoch}, the store knows {have} and {record.last_epoch if record else 0}"
    )
    return Note(Level.ALERT, text)


def history_lost(hello: Hello, have: int) -> Note | None:
    """An alert if reports are missing here that the executor can't send again: its retention does not reach back.

    The link goes on after the hole (reliability, section 5.7).
    """
    if hello.oldest_seq <= have + 1:
        return None
    text = (
        f"reports {have + 1} to {hello.oldest_seq - 1} of executor {hello.executor} are lost: the store does not have "
        "them, and the executor holds them no more; check the jobs that it ran then"
    )
    return Note(Level.ALERT, text)


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts over the runs that were listed, and what follows from them."""

    verdicts: tuple[RunVerdict, ...]
    outcome: Outcome

    @property
    def kills(self) -> tuple[RunId, ...]:
        """The runs that must be ended."""
        return tuple(RunId(v.run) for v in self.verdicts if v.verdict is Verdict.KILL)


def judge(
    world: World, executor: ExecutorId, entries: Sequence[RunEntry], now_ms: int, claims: Iterable[Claim] = ()
) -> tuple[World, Judged]:
    """Verdicts over the runs that an executor lists, in HELLO or in a full heartbeat.

    `world` holds the jobs of the known runs and, for the others, the jobs that the entries name. `claims` are those
    stored for this executor; one whose run is listed no more is dropped.
    """
    verdicts: list[RunVerdict] = []
    total = NOTHING_TO_DO
    for entry in entries:
        verdict, world, outcome = _judge_one(world, executor, entry, now_ms)
        verdicts.append(RunVerdict(run=entry.run, verdict=verdict))
        total = total.then(outcome)
    listed = {entry.run for entry in entries}
    gone = tuple(ClaimDropped(c.run_id) for c in claims if c.executor == executor and c.run_id not in listed)
    return world, Judged(tuple(verdicts), total.then(Outcome(gone)))


def _judge_one(world: World, executor: ExecutorId, entry: RunEntry, now_ms: int) -> tuple[Verdict, World, Outcome]:
    if entry.status is RunStatus.ENDED and world.find(RunId(entry.run)) is not None:
        return Verdict.KEEP, world, NOTHING_TO_DO
    found = world.find(RunId(entry.run))
    if found is None:
        return _unknown(world, executor, entry, now_ms)
    job, run = found
    current = job.current_run
    if run.executor != executor or current is None or current.run_id != run.run_id:
        return Verdict.KILL, world, NOTHING_TO_DO
    if run.acknowledged:
        return Verdict.KEEP, world, NOTHING_TO_DO
    job, outcome = acknowledge(job, run)
    return Verdict.KEEP, world.having(job), outcome


def acknowledge(job: Job, run: Run) -> tuple[Job, Outcome]:
    """The executor has journaled the lease: it is never offered again."""
    taken = replace(run, acknowledged=True)
    return with_run(job, taken), Outcome((RunChanged(taken),))


def _unknown(world: World, executor: ExecutorId, entry: RunEntry, now_ms: int) -> tuple[Verdict, World, Outcome]:
    """A run that the store has never heard of. It is killed only if its job is known to be over."""
    job = world.jobs.get(JobId(entry.job))
    claim = Claim(RunId(entry.run), JobId(entry.job), executor, PodUid(entry.uid))
    if job is None:
        return Verdict.UNKNOWN, world, Outcome((ClaimStored(claim),))
    if job.state.ended:
        return Verdict.KILL, world, NOTHING_TO_DO
    if job.state is JobState.QUEUED and not job.cancel_requested:
        job, outcome = adopt(job, claim, now_ms)
        return Verdict.KEEP, world.having(job), outcome
    claimed = replace(job, claims=(*(c for c in job.claims if c.run_id != claim.run_id), claim))
    return Verdict.UNKNOWN, world.having(claimed), Outcome((ClaimStored(claim),))


def acknowledged(runs: Iterable[RunId], executor: ExecutorId, jobs: Mapping[RunId, Job]) -> Judged:
    """What a heartbeat's newly listed runs mean: leases that have arrived, or runs to be ended at once.

    `jobs` are the jobs of the known ones. A run that is not known is left alone: the next full list judges it.
    """
    verdicts: list[RunVerdict] = []
    total = NOTHING_TO_DO
    for run_id in runs:
        job = jobs.get(run_id)
        if job is None:
            continue
        current = job.current_run
        if current is None or current.run_id != run_id or current.executor != executor:
            verdicts.append(RunVerdict(run=run_id, verdict=Verdict.KILL))
        elif not current.acknowledged:
            total = total.then(acknowledge(job, current)[1])
    return Judged(tuple(verdicts), total)

"""Applies batches of reports: each report once, in order, and only where it still counts.

Two lines of defence against a repeated report: the journal's high-water mark, and the run's own end, after which
nothing about it changes a job any more. A report that no longer counts (its run is fenced or over, or belongs to
another executor) is recorded and acknowledged, and changes nothing (reliability S13, S14, S28).
"""

from dataclasses import replace

from msgspec import structs

from refloat_common.core.ids import JobId, RunId
from refloat_common.core.messages import Report, ReportKind
from refloat_common.core.taxonomy import INTERNAL, MAX_NAME_BYTES, Internal
from refloat_scheduler.core.effects import (
    ClaimDropped,
    Effect,
    EventsAppended,
    HighWaterMoved,
    HoldReleased,
    LateReported,
    RunAdopted,
)
from refloat_scheduler.core.model import NO_UID, Claim, Job, JobState, Run
from refloat_scheduler.core.reconcile import telling
from refloat_scheduler.core.reconcile.reports import apply_report
from refloat_scheduler.core.reconcile.world import NOTHING_TO_DO, Batch, Outcome, Rules, World
from refloat_scheduler.core.signals import Level, Metric, Note, Sample


def reconcile(world: World, batches: tuple[Batch, ...], rules: Rules) -> tuple[World, Outcome]:
    """The world after these batches, and everything that must be stored and said; one transaction."""
    total = NOTHING_TO_DO
    for batch in batches:
        world, outcome = _batch(world, batch, rules)
        total = total.then(outcome)
    return world, total


def _batch(world: World, batch: Batch, rules: Rules) -> tuple[World, Outcome]:
    key = (batch.executor, batch.journal)
    have = world.high_water.get(key, 0)
    last = batch.first_seq + len(batch.reports) - 1
    if batch.first_seq > have + 1:
        return world, _gap(batch, have)
    if last <= have:
        return world, NOTHING_TO_DO
    effects: list[Effect] = []
    total = NOTHING_TO_DO
    for seq in range(have + 1, last + 1):
        report, code = usable(batch.reports[seq - batch.first_seq])
        world, outcome = _report(world, batch, report, rules)
        effects.extend(outcome.effects)
        skipped = ((seq, code),) if code else outcome.skipped
        total = total.then(replace(outcome, effects=(), skipped=skipped))
    effects.append(HighWaterMoved(batch.executor, batch.journal, last))
    world = replace(world, high_water={**world.high_water, key: last})
    return world, replace(total, effects=tuple(effects))


def usable(report: Report) -> tuple[Report, str]:
    """The report as it can be applied, and a code if that is not how it came: a name beyond what a store holds.

    Such a failure is one all the same, so its run ends as `internal/bad-report`, and what was said is kept as text.
    """
    names = (report.category, report.subcategory)
    if all(len(name.encode(errors="surrogatepass")) <= MAX_NAME_BYTES for name in names):
        return report, ""
    message = f"the report named {names[0]!r} / {names[1]!r}: more than {MAX_NAME_BYTES} bytes\n{report.message}"
    bad = structs.replace(report, category=INTERNAL, subcategory=Internal.BAD_REPORT.value, message=message)
    return bad, "name-too-long"


def _gap(batch: Batch, have: int) -> Outcome:
    """Reports before these are missing: nothing is applied, and the executor sends again from what is committed."""
    text = f"executor {batch.executor}: reports start at {batch.first_seq}, but only {have} are known; dropped"
    sample = Sample(Metric.REPORT_GAPS, (("executor", batch.executor),))
    return Outcome(notes=(Note(Level.WARNING, text),), samples=(sample,))


def _report(world: World, batch: Batch, report: Report, rules: Rules) -> tuple[World, Outcome]:
    found = world.find(RunId(report.run))
    if found is None:
        return _unknown_run(world, batch, report, rules)
    job, run = found
    if report.job != job.job_id:
        return world, _late(batch, report, rules, "the run belongs to another job")
    if run.executor != batch.executor:
        return world, _late(batch, report, rules, "the run is another executor's")
    if report.kind is ReportKind.GONE:
        return _gone(world, job, report)
    current = job.current_run
    if current is None or current.run_id != run.run_id:
        if report.kind is ReportKind.KILLED:
            return world, NOTHING_TO_DO
        return world, _late(batch, report, rules, f"the run is {run.state.value}, its job {job.state.value}")
    job, outcome = apply_report(job, run, report, rules)
    return world.having(job), outcome


def _gone(world: World, job: Job, report: Report) -> tuple[World, Outcome]:
    """The old pod is gone at last: a retry that was held for it may be leased."""
    if not job.hold_for_uid or job.hold_for_uid != report.uid:
        return world, NOTHING_TO_DO
    free = replace(job, hold_for_uid=NO_UID)
    requeued = (job.queue,) if free.leasable else ()
    return world.having(free), Outcome((HoldReleased(job.job_id),), requeued=requeued)


def _unknown_run(world: World, batch: Batch, report: Report, rules: Rules) -> tuple[World, Outcome]:
    """A run that the store has forgotten: its queued job is adopted by it, then the report counts as any other."""
    job = world.jobs.get(JobId(report.job))
    run_id = RunId(report.run)
    dropped: tuple[Effect, ...] = ()
    if job is not None and report.kind.ends_run and any(claim.run_id == run_id for claim in job.claims):
        dropped = (ClaimDropped(run_id),)
    if job is None or job.state is not JobState.QUEUED or report.kind is ReportKind.GONE:
        why = "its job is unknown" if job is None else f"the run is unknown, its job {job.state.value}"
        late = _late(batch, report, rules, why)
        if job is not None and dropped:
            world = world.having(replace(job, claims=tuple(c for c in job.claims if c.run_id != run_id)))
        return world, replace(late, effects=late.effects + dropped)
    claim = Claim(run_id, job.job_id, batch.executor)
    job, adopted = adopt(job, claim, rules.now_ms)
    run = job.runs[-1]
    job, applied = apply_report(job, run, report, rules)
    return world.having(job), adopted.then(applied)


def adopt(job: Job, claim: Claim, now_ms: int) -> tuple[Job, Outcome]:
    """A queued job leased to a run that an executor already holds; whatever claims it had are settled by that.

    The run counts as attempted: its pod may have run already.
    """
    run = Run(
        run_id=claim.run_id,
        job_id=job.job_id,
        ordinal=len(job.runs) + 1,
        executor=claim.executor,
        pod_uid=claim.pod_uid,
        acknowledged=True,
        attempted=True,
        leased_at_ms=now_ms,
    )
    version = job.queued_version + 1
    adopted = replace(
        job,
        state=JobState.LEASED,
        queued_version=version,
        hold_for_uid=NO_UID,
        runs=(*job.runs, run),
        claims=tuple(old for old in job.claims if old.run_id != claim.run_id),
    )
    effects: list[Effect] = [RunAdopted(run, version), EventsAppended((telling.leased(adopted, run, now_ms),))]
    if len(adopted.claims) < len(job.claims):
        effects.append(ClaimDropped(claim.run_id))
    text = f"job {job.job_id} is adopted by run {claim.run_id} of executor {claim.executor}"
    return adopted, Outcome(tuple(effects), notes=(Note(Level.INFO, text),))


def _late(batch: Batch, report: Report, rules: Rules, why: str) -> Outcome:
    late = LateReported(
        run_id=RunId(report.run),
        job_id=JobId(report.job),
        executor=batch.executor,
        kind=report.kind.value,
        why=why,
        reported_at_ms=rules.now_ms,
    )
    labels = (("executor", batch.executor), ("kind", report.kind.value))
    return Outcome((late,), samples=(Sample(Metric.LATE_REPORTS, labels),))

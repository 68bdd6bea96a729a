"""The verdict over one failed or expired run: whether the job is queued again, and what is told of it.

Failed run: gates, engine, mutations with their probes; where the engine does not decide, the legacy path: a returned
lease is tried again, away from the nodes already tried, up to the attempt limit; anything else is terminal.
Expired lease: gates and engine only; a granted retry leaves the job as it is (specification: *Mutations apply on the
failed-run retry path only*).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from refloat_common.core.ids import PodUid
from refloat_common.core.taxonomy import INTERNAL, Disposition, Internal
from refloat_scheduler.core.explanation import Decision, Explanation, Gate
from refloat_scheduler.core.model import NO_UID, ErrorKind, Job, JobState, Run, RunError
from refloat_scheduler.core.policies.compiled import CompiledPolicy
from refloat_scheduler.core.retry import texts
from refloat_scheduler.core.retry.changes import Changes, Probe, avoided, changed
from refloat_scheduler.core.retry.counts import attempt_count, failure_count, returned_attempt_count
from refloat_scheduler.core.retry.engine import Verdict, decide, retries_used, rules_looked_at
from refloat_scheduler.core.retry.gates import (
    Passage,
    RetrySettings,
    governing_policy,
    is_fail_fast,
    pass_gates,
)
from refloat_scheduler.core.signals import Metric, Note, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a verdict depends on beside the job. `capable`: the run's executor removes failed pods (`delete_action`).

    `queue_policies` are those of the job's queue, None if there is no such queue.
    """

    queue_policies: tuple[str, ...] | None
    policies: Mapping[str, CompiledPolicy]
    settings: RetrySettings
    probe: Probe
    capable: bool = True
    now_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """A verdict and its consequences. `error` is what the public failed event tells; None if none is written."""

    job: Job
    retry: bool
    decided: bool
    error: RunError | None
    explanation: Explanation
    notes: tuple[Note, ...] = ()
    samples: tuple[Sample, ...] = ()


class RunErrorMissingError(LookupError):
    """A run has failed, but why was never stored: the caller is out of step with its store."""

    def __init__(self, run: Run) -> None:
        super().__init__(
            f"no run error found for run {run.run_id} (job id = {run.job_id}), "
            "this must mean we're out of sync with the database",
        )


def settle_failure(job: Job, circumstances: Circumstances) -> Settlement:
    """The verdict over the job's latest run, which has failed or was returned.

    Raises:
        RunErrorMissingError: the job must fail, and the run has no error.
        UnreadableRecordError: the job's stored growth means nothing.
    """
    run = _latest(job)
    passage = pass_gates(
        job,
        run,
        circumstances.queue_policies,
        circumstances.policies,
        circumstances.settings,
        capable=circumstances.capable,
    )
    if passage.gate is Gate.PASSED and passage.policy is not None:
        return _decided(job, run, passage, passage.policy, circumstances)
    return _legacy(job, run, passage, circumstances)


def settle_expiry(job: Job, circumstances: Circumstances) -> Settlement:
    """The verdict over the job's latest run, whose lease has expired; its error says so."""
    run = _latest(job)
    error = run.error or texts.lease_expired()
    passage = pass_gates(
        job,
        run,
        circumstances.queue_policies,
        circumstances.policies,
        circumstances.settings,
        capable=circumstances.capable,
    )
    if passage.gate is not Gate.PASSED or passage.policy is None:
        return _closed(job, run, passage, circumstances, _Outcome(retry=False, error=error))
    verdict = decide(passage.policy, error, failure_count(job), circumstances.settings.global_max_retries)
    shown = error if verdict.retry else texts.expiry_declined(error, verdict.reason)
    return _closed(job, run, passage, circumstances, _Outcome(verdict.retry, shown, verdict))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a verdict came out, before it is written down."""

    retry: bool
    error: RunError | None
    verdict: Verdict | None = None
    changes: Changes | None = None


def _decided(job: Job, run: Run, passage: Passage, policy: CompiledPolicy, c: Circumstances) -> Settlement:
    """The engine's verdict, with the mutations that it brings."""
    error = run.error
    if error is None:
        raise RunErrorMissingError(run)
    verdict = decide(policy, error, failure_count(job), c.settings.global_max_retries)
    changes = None
    if verdict.retry and verdict.mutation:
        changes = changed(job, verdict.mutation, c.settings.node_id_label, c.probe)
        if changes.refusal:
            verdict = Verdict(
                retry=False,
                decision=Decision.RETRY_UNSCHEDULABLE,
                reason=changes.refusal,
                rule_index=verdict.rule_index,
                mutation=verdict.mutation,
            )
    shown = error if verdict.retry else texts.declined(error, verdict.reason)
    return _closed(job, run, passage, c, _Outcome(verdict.retry, shown, verdict, changes))


def _legacy(job: Job, run: Run, passage: Passage, c: Circumstances) -> Settlement:
    """What happens where the engine does not decide: only returned leases are tried again."""
    limit, counted, fail_fast = c.settings.attempt_limit, _counted_attempts(job, c), is_fail_fast(job)
    retry = run.returned and not fail_fast and counted < limit
    changes = avoided(job, c.settings.node_id_label, c.probe) if retry and run.attempted else None
    if changes is not None and changes.refusal:
        retry = False
    if retry:
        return _closed(job, run, passage, c, _Outcome(retry, None, changes=changes))
    if run.error is None:
        raise RunErrorMissingError(run)
    error = run.error
    if run.returned:
        error = texts.max_runs_exceeded(error, attempt_count(job), limit, counted, fail_fast=fail_fast)
    return _closed(job, run, passage, c, _Outcome(retry, error, changes=changes))


def _counted_attempts(job: Job, c: Circumstances) -> int:
    """What the attempt limit bounds: beside a policy only returned leases, else every attempt."""
    governed = governing_policy(c.queue_policies, c.settings)
    return returned_attempt_count(job) if governed else attempt_count(job)


def _closed(job: Job, run: Run, passage: Passage, c: Circumstances, outcome: _Outcome) -> Settlement:
    """The settlement of an outcome: the job's next state, the explanation, the samples."""
    changes, verdict = outcome.changes, outcome.verdict
    after = changes.job if changes is not None else job
    if outcome.retry:
        after = replace(
            after,
            state=JobState.QUEUED,
            queued_version=job.queued_version + 1,
            hold_for_uid=_hold(run),
        )
    else:
        state = JobState.PREEMPTED if run.preempted else JobState.FAILED
        after = replace(after, state=state, ended_at_ms=c.now_ms)
    samples = passage.samples
    if verdict is not None:
        labels = (("queue", job.queue), ("pool", run.pool), ("policy", passage.policy_name))
        samples += (Sample(Metric.DECISIONS, (*labels, ("decision", verdict.decision.value))),)
    return Settlement(
        job=after,
        retry=outcome.retry,
        decided=verdict is not None,
        error=outcome.error,
        explanation=_explanation(job, run, passage, c, outcome),
        notes=passage.notes + (changes.notes if changes is not None else ()),
        samples=samples,
    )


def _hold(run: Run) -> PodUid:
    """The uid that must be gone before the retry may be leased: that of a pod that was to be removed and was not."""
    error = run.error
    if error is None or error.pod_gone or not error.uid:
        return NO_UID
    stuck = error.category == INTERNAL and error.subcategory == Internal.STUCK_TERMINATING
    return PodUid(error.uid) if stuck or error.disposition == Disposition.DELETE else NO_UID


def _explanation(job: Job, run: Run, passage: Passage, c: Circumstances, outcome: _Outcome) -> Explanation:
    """Everything the verdict rests on."""
    verdict, policy = outcome.verdict, passage.policy
    failures = failure_count(job)
    used = retries_used(failures)
    error = run.error or RunError(kind=ErrorKind.LEASE_EXPIRED)
    return Explanation(
        run_id=run.run_id,
        job_id=job.job_id,
        retry=outcome.retry,
        gate=passage.gate,
        decision=verdict.decision.value if verdict else "",
        reason=verdict.reason if verdict else "",
        policy=passage.policy_name,
        policy_hash=policy.content_hash if policy else "",
        category=error.category,
        subcategory=error.subcategory,
        rule_index=verdict.rule_index if verdict else None,
        rules=rules_looked_at(policy, error) if verdict and policy else (),
        default_action=("Retry" if policy.default_retry else "Fail") if policy else "",
        failures=failures,
        retries_used=used,
        retries_after=used + (1 if verdict and outcome.retry else 0),
        retry_limit=policy.retry_limit if policy else None,
        global_max_retries=c.settings.global_max_retries,
        attempts=_counted_attempts(job, c),
        attempt_limit=c.settings.attempt_limit,
        mutations=outcome.changes.made if outcome.changes else (),
        settings_hash=c.settings.settings_hash,
        decided_at_ms=c.now_ms,
    )


def _latest(job: Job) -> Run:
    run = job.latest_run
    if run is None:
        raise LookupError(f"job {job.job_id} has no run that could have failed")
    return run

"""What one report does to its run: a table of run states and report kinds.

Only reports about a job's current run, from the executor that holds it, come here. What is missing from the table
can't be: an ended run is never current, and `GONE` is about an earlier one.
"""

from collections.abc import Callable
from dataclasses import replace

from refloat_common.core.ids import PodUid, pod_name
from refloat_common.core.messages import Report, ReportKind
from refloat_scheduler.core.effects import EventsAppended, JobEnded, RunChanged
from refloat_scheduler.core.model import ContainerResult, ErrorKind, Job, JobState, Run, RunError, RunState
from refloat_scheduler.core.reconcile import telling
from refloat_scheduler.core.reconcile.consequences import after_failure, with_run
from refloat_scheduler.core.reconcile.world import NOTHING_TO_DO, Outcome, Rules

Step = Callable[[Job, Run, Report, Rules], tuple[Job, Outcome]]
KILLED_BY_EARLIER = "ended on the word of an earlier scheduler"


def _pending(job: Job, run: Run, report: Report, rules: Rules) -> tuple[Job, Outcome]:
    """The pod exists."""
    now = replace(_seen(run, report), state=RunState.PENDING)
    event = telling.pending(job, now, report, rules.now_ms)
    return with_run(job, now), Outcome((RunChanged(now), EventsAppended((event,))))


def _running(job: Job, run: Run, report: Report, rules: Rules) -> tuple[Job, Outcome]:
    """The pod runs."""
    now = replace(_seen(run, report), state=RunState.RUNNING, running_at_ms=rules.now_ms)
    event = telling.running(job, now, report, rules.now_ms)
    return with_run(job, now), Outcome((RunChanged(now), EventsAppended((event,))))


def _succeeded(job: Job, run: Run, report: Report, rules: Rules) -> tuple[Job, Outcome]:
    """The job is done."""
    now = replace(_seen(run, report), state=RunState.SUCCEEDED, ended_at_ms=rules.now_ms)
    ended = replace(with_run(job, now), state=JobState.SUCCEEDED, ended_at_ms=rules.now_ms)
    effects = (
        RunChanged(now),
        EventsAppended((telling.succeeded(job, now, report, rules.now_ms),)),
        JobEnded(job.job_id, JobState.SUCCEEDED, rules.now_ms),
    )
    return ended, Outcome(effects, room=(run.executor,))


def _failed(job: Job, run: Run, report: Report, rules: Rules) -> tuple[Job, Outcome]:
    """The pod failed: the verdict is due."""
    error = error_of(job, run, report, ErrorKind.POD_ERROR)
    now = replace(_seen(run, report), state=RunState.FAILED, error=error, ended_at_ms=rules.now_ms)
    return after_failure(job, now, rules)


def _returned(job: Job, run: Run, report: Report, rules: Rules) -> tuple[Job, Outcome]:
    """The executor gives the run back; never decided by the engine."""
    error = error_of(job, run, report, ErrorKind.POD_LEASE_RETURNED)
    now = replace(
        _seen(run, report),
        state=RunState.FAILED,
        returned=True,
        attempted=report.attempted,
        error=error,
        ended_at_ms=rules.now_ms,
    )
    return after_failure(job, now, rules, (telling.lease_returned(job, now, error, rules.now_ms),))


def _killed(job: Job, run: Run, report: Report, rules: Rules) -> tuple[Job, Outcome]:
    """The executor ended a run that is current here: the order was given in a history that a restore has undone.

    The job lost its run through no fault of its own, so it is treated as a lease that was returned untried.
    """
    message = report.message or KILLED_BY_EARLIER
    error = replace(error_of(job, run, report, ErrorKind.POD_LEASE_RETURNED), message=message)
    now = replace(
        _seen(run, report),
        state=RunState.FAILED,
        returned=True,
        attempted=False,
        error=error,
        ended_at_ms=rules.now_ms,
    )
    return after_failure(job, now, rules, (telling.lease_returned(job, now, error, rules.now_ms),))


def _stale(job: Job, _run: Run, _report: Report, _rules: Rules) -> tuple[Job, Outcome]:
    """Known already."""
    return job, NOTHING_TO_DO


_ENDINGS: dict[ReportKind, Step] = {
    ReportKind.SUCCEEDED: _succeeded,
    ReportKind.FAILED: _failed,
    ReportKind.RETURNED: _returned,
    ReportKind.KILLED: _killed,
}
_TABLE: dict[RunState, dict[ReportKind, Step]] = {
    RunState.LEASED: {ReportKind.PENDING: _pending, ReportKind.RUNNING: _running, **_ENDINGS},
    RunState.PENDING: {ReportKind.PENDING: _stale, ReportKind.RUNNING: _running, **_ENDINGS},
    RunState.RUNNING: {ReportKind.PENDING: _stale, ReportKind.RUNNING: _stale, **_ENDINGS},
}


def apply_report(job: Job, run: Run, report: Report, rules: Rules) -> tuple[Job, Outcome]:
    """The job after a report about its current run."""
    return _TABLE[run.state][report.kind](job, run, report, rules)


def _seen(run: Run, report: Report) -> Run:
    """What any report about a run tells of it: the lease has arrived, and where its pod is."""
    return replace(
        run,
        acknowledged=True,
        attempted=run.attempted or report.attempted,
        node=report.node or run.node,
        node_label=report.node_label or run.node_label,
        pod_uid=PodUid(report.uid) if report.uid else run.pod_uid,
    )


def error_of(job: Job, run: Run, report: Report, kind: ErrorKind) -> RunError:
    """The error that a report tells of; category and subcategory are taken over as they are."""
    return RunError(
        kind=kind,
        category=report.category,
        subcategory=report.subcategory,
        message=report.message,
        cause=report.cause,
        cluster=run.executor,
        node=report.node or run.node,
        pod=report.pod_name or pod_name(job.job_id),
        namespace=report.namespace or job.namespace,
        uid=report.uid or run.pod_uid,
        containers=tuple(ContainerResult(c.name, c.exit_code, c.reason, c.message, c.cause) for c in report.containers),
        disposition=report.disposition,
        pod_gone=report.pod_gone,
    )

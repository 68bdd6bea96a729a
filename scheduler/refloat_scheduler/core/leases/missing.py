"""Runs that the store has on an executor and that the executor does not list, though it has handed in its reports.

A lease that was never acknowledged has not arrived: it is offered again. A run that was acknowledged and is listed no
more is lost for good (its journal went, or its pod did, unnoticed): after a grace it ends as `internal/pod-missing`,
so that no job stays leased for ever (reliability, rule 13).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from refloat_common.core.ids import RunId, pod_name
from refloat_common.core.taxonomy import INTERNAL, Internal
from refloat_scheduler.core.model import ErrorKind, Job, Run, RunError, RunState
from refloat_scheduler.core.reconcile.consequences import after_failure
from refloat_scheduler.core.reconcile.world import NOTHING_TO_DO, Outcome, Rules

POD_MISSING = "Pod is unexpectedly missing in Kubernetes"


@dataclass(frozen=True, slots=True)
class Unlisted:
    """Of one page of an executor's active jobs: leases to offer again, and runs that are missing."""

    offer_again: tuple[RunId, ...]
    missing: tuple[RunId, ...]


def unlisted(jobs: Sequence[Job], listed: AbstractSet[RunId]) -> Unlisted:
    """Sort the current runs of these jobs that the executor does not list."""
    absent = [run for job in jobs if (run := job.current_run) is not None and run.run_id not in listed]
    return Unlisted(
        offer_again=tuple(run.run_id for run in absent if _not_arrived(run)),
        missing=tuple(run.run_id for run in absent if not _not_arrived(run)),
    )


def _not_arrived(run: Run) -> bool:
    return run.state is RunState.LEASED and not run.acknowledged


def end_missing(jobs: Sequence[Job], missing: AbstractSet[RunId], rules: Rules) -> Outcome:
    """End those of these jobs' current runs that are missing; the retry engine decides as over any failed pod."""
    total = NOTHING_TO_DO
    for job in jobs:
        run = job.current_run
        if run is not None and run.run_id in missing:
            error = RunError(
                kind=ErrorKind.POD_ERROR,
                category=INTERNAL,
                subcategory=Internal.POD_MISSING,
                message=POD_MISSING,
                cluster=run.executor,
                node=run.node,
                pod=pod_name(job.job_id),
                namespace=job.namespace,
                uid=run.pod_uid,
                pod_gone=True,
            )
            ended = replace(run, state=RunState.FAILED, attempted=True, error=error, ended_at_ms=rules.now_ms)
            total = total.then(after_failure(job, ended, rules)[1])
    return total

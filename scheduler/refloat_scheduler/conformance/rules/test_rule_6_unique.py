"""Rule 6: at most one verdict for a run, and one run for a run id."""

from dataclasses import replace

import pytest

from refloat_scheduler.conformance.samples import (
    applied,
    explained,
    failed,
    job_now,
    leased,
    mark,
    marked,
    queued,
    reading,
)
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.core.effects import RunChanged, VerdictStored
from refloat_scheduler.core.model import RunState

pytestmark = pytest.mark.anyio


async def test_a_second_verdict_over_a_run_is_refused_with_its_transaction(subject: Subject) -> None:
    """The first one stands, and nothing of the second one's work is applied."""
    job, run = await leased(subject)
    first = explained(run)
    await applied(subject, VerdictStored(first))
    with pytest.raises(Exception):  # noqa: B017, PT011  which one is the host's own affair
        await applied(subject, mark(1), VerdictStored(explained(run, "another")))
    stored = await subject.verdict_of(job.job_id, run.run_id)
    assert stored is not None
    assert stored["reason"] == first.reason
    assert await marked(subject) == 0


async def test_two_verdicts_over_a_run_in_one_work_are_refused(subject: Subject) -> None:
    """Not even the first of them is kept."""
    job, run = await leased(subject)
    with pytest.raises(Exception):  # noqa: B017, PT011  which one is the host's own affair
        await applied(subject, VerdictStored(explained(run)), VerdictStored(explained(run, "another")))
    assert await subject.verdict_of(job.job_id, run.run_id) is None


async def test_a_run_that_changes_stays_one_run(subject: Subject) -> None:
    """However often it changes, in one work or in several."""
    job, run = await leased(subject)
    running = replace(run, state=RunState.RUNNING, acknowledged=True, attempted=True)
    await applied(subject, RunChanged(replace(run, state=RunState.PENDING)), RunChanged(running))
    await applied(subject, RunChanged(running))
    assert (await job_now(subject, job.job_id)).runs == (running,)
    await applied(subject, RunChanged(failed(run)))
    assert (await job_now(subject, job.job_id)).runs == (failed(run),)


async def test_runs_of_different_jobs_are_told_apart(subject: Subject) -> None:
    """A run belongs to its own job and to no other."""
    job, run = await leased(subject)
    [other] = await queued(subject)
    found = await reading(subject, lambda tx: tx.jobs_of_runs([run.run_id]))
    assert found[run.run_id].job_id == job.job_id
    assert (await job_now(subject, other.job_id)).runs == ()

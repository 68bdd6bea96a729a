"""Rule 7: the host makes a run only where it may, with a fresh id, the next ordinal, and the event that says so."""

from contextlib import suppress
from dataclasses import replace

import pytest

from refloat_common.core.ids import PodUid, RunId
from refloat_scheduler.conformance.samples import (
    EAST,
    QUEUE,
    WEST,
    applied,
    failed,
    job_now,
    known,
    leased,
    queued,
    view,
)
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.core.effects import ClaimDropped, ClaimStored, HoldReleased, JobEnded, JobRequeued, RunChanged
from refloat_scheduler.core.events import JobLeased
from refloat_scheduler.core.model import Claim, Job, JobState, Run, RunState
from refloat_scheduler.service.contract import StoreUnavailable

pytestmark = pytest.mark.anyio


def requeue(job: Job, hold: str = "") -> JobRequeued:
    """The job back in its queue, perhaps held for an old pod."""
    return JobRequeued(
        job_id=job.job_id,
        queued_version=job.queued_version + 1,
        record=job.record,
        requirements=job.requirements,
        hold_for_uid=PodUid(hold),
    )


async def test_a_lease_is_a_new_run_told_of_in_the_stream(subject: Subject) -> None:
    """Not acknowledged, not attempted, ordinal 1, `queued_version` one higher."""
    [before] = await queued(subject)
    await known(subject)
    [lease] = await subject.lease_round([view()])
    job = await job_now(subject, before.job_id)
    run = job.current_run
    assert run is not None
    assert run == Run(
        run_id=RunId(lease.run),
        job_id=job.job_id,
        ordinal=1,
        executor=EAST,
        pool="default",
        leased_at_ms=run.leased_at_ms,
    )
    assert (job.state, job.queued_version) == (JobState.LEASED, before.queued_version + 1)
    last = (await subject.stream(QUEUE, job.job_set))[-1]
    assert isinstance(last, JobLeased)
    assert (last.job_id, last.run_id, last.cluster_id) == (job.job_id, run.run_id, EAST)


async def test_the_next_attempt_has_the_next_ordinal_and_another_id(subject: Subject) -> None:
    """The first run stays in the history."""
    job, run = await leased(subject)
    await applied(subject, RunChanged(failed(run)), requeue(job))
    await subject.lease_round([view()])
    again = await job_now(subject, job.job_id)
    assert [known.ordinal for known in again.runs] == [1, 2]
    assert again.runs[0] == failed(run)
    assert again.runs[1].run_id != run.run_id
    assert (again.runs[1].state, again.queued_version) == (RunState.LEASED, job.queued_version + 2)


async def test_run_ids_never_repeat(subject: Subject) -> None:
    """They are fresh for every run."""
    jobs = await queued(subject, 10)
    await known(subject)
    leases = await subject.lease_round([view()])
    assert len({lease.run for lease in leases}) == len(jobs)
    assert {lease.job for lease in leases} == {job.job_id for job in jobs}


async def test_an_executor_that_may_not_lease_gets_nothing(subject: Subject) -> None:
    """Whatever room it says it has."""
    [job] = await queued(subject)
    await known(subject)
    assert list(await subject.lease_round([view(may_lease=False)])) == []
    assert (await job_now(subject, job.job_id)).state is JobState.QUEUED


async def test_who_may_lease_gets_it_beside_one_that_may_not(subject: Subject) -> None:
    """Each executor stands for itself."""
    [job] = await queued(subject)
    for executor in (EAST, WEST):
        await known(subject, executor)
    await subject.lease_round([view(EAST, may_lease=False), view(WEST)])
    run = (await job_now(subject, job.job_id)).current_run
    assert run is not None
    assert run.executor == WEST


async def test_a_held_job_is_not_leased_before_it_is_released(subject: Subject) -> None:
    """The old pod may still be there."""
    job, run = await leased(subject)
    await applied(subject, RunChanged(failed(run)), requeue(job, hold="uid-1"))
    assert list(await subject.lease_round([view()])) == []
    await applied(subject, HoldReleased(job.job_id))
    assert [lease.job for lease in await subject.lease_round([view()])] == [job.job_id]


async def test_a_claimed_job_is_not_leased_before_the_claim_is_dropped(subject: Subject) -> None:
    """An executor holds a run of it that the store has forgotten."""
    [job] = await queued(subject)
    await known(subject)
    claim = Claim(RunId("claimed"), job.job_id, WEST)
    await applied(subject, ClaimStored(claim))
    assert list(await subject.lease_round([view()])) == []
    await applied(subject, ClaimDropped(claim.run_id))
    assert [lease.job for lease in await subject.lease_round([view()])] == [job.job_id]


async def test_what_is_leased_or_over_is_not_leased(subject: Subject) -> None:
    """One run at a time, and none after the end."""
    job, run = await leased(subject)
    assert list(await subject.lease_round([view()])) == []
    await applied(subject, RunChanged(replace(failed(run))), JobEnded(job.job_id, JobState.FAILED, 9))
    assert list(await subject.lease_round([view()])) == []
    assert (await job_now(subject, job.job_id)).state is JobState.FAILED


async def test_without_the_store_nothing_is_leased(subject: Subject) -> None:
    """The host's own changes are transactions like any other: run and event, or neither."""
    [job] = await queued(subject)
    await known(subject)
    events = len(await subject.stream(QUEUE, job.job_set))
    with subject.refusing(), suppress(StoreUnavailable):
        assert list(await subject.lease_round([view()])) == []
    assert (await job_now(subject, job.job_id)).runs == ()
    assert len(await subject.stream(QUEUE, job.job_set)) == events

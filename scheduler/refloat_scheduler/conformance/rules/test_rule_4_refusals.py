"""Rule 4: a store that can't commit says so with `StoreUnavailable`, and nothing was applied."""

import pytest

from refloat_scheduler.conformance.samples import EAST, QUEUE, applied, mark, marked, queued, record, told
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.core.effects import EventsAppended, ExecutorSaved
from refloat_scheduler.service.contract import JobsRequeued, RoomChanged, StoreUnavailable

pytestmark = pytest.mark.anyio


async def test_a_store_that_can_not_commit_is_unavailable_and_has_applied_nothing(subject: Subject) -> None:
    """Neither while it refuses nor afterwards is there any trace of what was refused."""
    [job] = await queued(subject)
    events = len(await subject.stream(QUEUE, job.job_set))
    await applied(subject, mark(1))
    with subject.refusing():
        for number in (2, 3):
            with pytest.raises(StoreUnavailable):
                await applied(subject, mark(number), ExecutorSaved(record()), EventsAppended((told(job, number),)))
    assert await marked(subject) == 1
    assert await subject.host.transact(lambda tx: tx.executor_record(EAST)) is None
    assert len(await subject.stream(QUEUE, job.job_set)) == events


async def test_it_goes_on_where_it_was(subject: Subject) -> None:
    """Once it can commit again, with nothing to be done by hand."""
    with subject.refusing(), pytest.raises(StoreUnavailable):
        await applied(subject, mark(1))
    await applied(subject, mark(2))
    assert await marked(subject) == 2


async def test_a_notice_waits_for_nothing_and_raises_nothing(subject: Subject) -> None:
    """Also while the store refuses: it is rung after a commit, whatever has happened since."""
    notices = (JobsRequeued((QUEUE,)), RoomChanged(EAST), JobsRequeued(()))
    for notice in notices:
        subject.host.notify(notice)
    with subject.refusing():
        for notice in notices:
            subject.host.notify(notice)

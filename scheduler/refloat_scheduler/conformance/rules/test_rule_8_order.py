"""Rule 8: events come in order of commit, then of appending."""

import pytest

from refloat_scheduler.conformance.samples import JOB_SET, QUEUE, applied, queued, told
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.core.effects import EventsAppended
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.service.contract import Transaction

pytestmark = pytest.mark.anyio


async def numbers(subject: Subject, job_set: str = JOB_SET) -> list[int]:
    """The numbers of our own events, in the order of the stream."""
    return [event.created_ms for event in await subject.stream(QUEUE, job_set) if isinstance(event, JobFailed)]


async def test_events_come_as_they_were_appended(subject: Subject) -> None:
    """Within one effect, within one work, and from one transaction to the next; times and jobs change nothing."""
    one, other = await queued(subject, 2)
    await applied(subject, EventsAppended((told(other, 9), told(one, 3))), EventsAppended((told(one, 7),)))
    await applied(subject, EventsAppended((told(other, 1),)))
    assert await numbers(subject) == [9, 3, 7, 1]


async def test_what_work_appends_in_two_steps_stays_in_order(subject: Subject) -> None:
    """`apply` may be called more than once."""
    [job] = await queued(subject)

    def work(tx: Transaction) -> None:
        for number in (5, 4, 6):
            tx.apply([EventsAppended((told(job, number),))])

    await subject.host.transact(work)
    assert await numbers(subject) == [5, 4, 6]


async def test_each_job_set_has_its_own_stream(subject: Subject) -> None:
    """Nothing of another one is in it."""
    [one] = await queued(subject)
    [other] = await queued(subject, job_set="set-2")
    await applied(subject, EventsAppended((told(one, 1), told(other, 2), told(one, 3))))
    assert await numbers(subject) == [1, 3]
    assert await numbers(subject, "set-2") == [2]


async def test_an_event_is_read_as_it_was_written(subject: Subject) -> None:
    """Every field of it."""
    [job] = await queued(subject)
    await applied(subject, EventsAppended((told(job, 1),)))
    assert (await subject.stream(QUEUE, job.job_set))[-1] == told(job, 1)

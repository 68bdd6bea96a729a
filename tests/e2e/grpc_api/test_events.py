"""`api.Event` over a real server: from the beginning, from any message on, to the end and for ever."""

from typing import Any

import anyio
import pytest
from armada_client.armada import event_pb2
from armada_client.armada import submit_pb2 as pb
from grpc import StatusCode

from testkit.host.api import ServedApi, refused, until
from testkit.host.api_jobs import item, submitted

pytestmark = pytest.mark.anyio

Message = event_pb2.EventStreamMessage


@pytest.fixture(autouse=True)
async def queue(api: ServedApi) -> None:
    await api.queues.CreateQueue(pb.Queue(name="q", priority_factor=1))


def wanted(**fields: Any) -> event_pb2.JobSetRequest:
    given: dict[str, Any] = {"queue": "q", "id": "s"} | fields
    return event_pb2.JobSetRequest(**given)


def kinds(messages: list[Message]) -> list[str | None]:
    return [message.message.WhichOneof("events") for message in messages]


async def present(api: ServedApi, **fields: Any) -> list[Message]:
    return [message async for message in api.events.GetJobSetEvents(wanted(**fields))]


async def taken(call: Any, count: int) -> list[Message]:
    with anyio.fail_after(10):
        return [await call.read() for _ in range(count)]


async def test_a_reader_that_does_not_watch_gets_what_there_is(api: ServedApi) -> None:
    [job_id] = await submitted(api)
    messages = await present(api)
    assert kinds(messages) == ["submitted", "queued"]
    first = messages[0].message.submitted
    assert (first.job_id, first.job_set_id, first.queue) == (job_id, "s", "q")
    assert (first.job.id, first.job.owner, first.job.namespace) == (job_id, "anonymous", "default")
    assert [message.id for message in messages] == ["1:0:0:1", "2:0:0:1"]


async def test_a_reader_goes_on_behind_any_message(api: ServedApi) -> None:
    await submitted(api, item(), item())
    await submitted(api, job_set_id="other")
    await submitted(api)
    everything = await present(api)
    assert kinds(everything) == ["submitted", "queued"] * 3
    for seen, message in enumerate(everything, start=1):
        assert await present(api, from_message_id=message.id) == everything[seen:]
    assert await present(api, from_message_id="0") == everything
    assert await present(api, from_message_id=everything[0].id.partition(":")[0]) == everything[1:]


async def test_more_than_a_page_is_read(api: ServedApi) -> None:
    await submitted(api, *[item()] * 600)
    messages = await present(api)
    assert len(messages) == 1200
    assert len({message.id for message in messages}) == 1200


@pytest.mark.parametrize("kind", ["GetJobSetEvents", "Watch"])
async def test_a_watch_goes_on_with_what_comes(api: ServedApi, kind: str) -> None:
    await submitted(api)
    requests = {
        "GetJobSetEvents": wanted(watch=True, errorIfMissing=True),
        "Watch": event_pb2.WatchRequest(queue="q", job_set_id="s"),
    }
    call = getattr(api.events, kind)(requests[kind])
    assert kinds(await taken(call, 2)) == ["submitted", "queued"]
    await submitted(api, job_set_id="other")
    [job_id] = await submitted(api)
    await api.submit.CancelJobs(pb.JobCancelRequest(queue="q", job_set_id="s", job_id=job_id, reason="no need"))
    later = await taken(call, 4)
    assert kinds(later) == ["submitted", "queued", "cancelling", "cancelled"]
    assert later[3].message.cancelled.reason == "no need"
    call.cancel()


async def test_a_watch_is_resumed_where_it_broke_off(api: ServedApi) -> None:
    await submitted(api)
    first = api.events.GetJobSetEvents(wanted(watch=True))
    seen = await taken(first, 1)
    first.cancel()
    await submitted(api)
    second = api.events.GetJobSetEvents(wanted(watch=True, from_message_id=seen[0].id))
    seen += await taken(second, 3)
    second.cancel()
    assert seen == await present(api)


async def test_a_watch_may_begin_before_the_first_job(api: ServedApi) -> None:
    call = api.events.GetJobSetEvents(wanted(watch=True))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(submitted, api)
        assert kinds(await taken(call, 2)) == ["submitted", "queued"]
    call.cancel()


async def test_a_watcher_that_has_gone_leaves_nothing_behind(api: ServedApi) -> None:
    call = api.events.GetJobSetEvents(wanted(watch=True))
    await submitted(api)
    await taken(call, 2)
    call.cancel()
    await until(lambda: not api.services.events._news._readers)


async def test_a_job_set_without_events_is_empty_or_missing_as_the_reader_wishes(api: ServedApi) -> None:
    assert await present(api) == []
    text = "[GetJobSetEvents] Jobset s for queue q does not exist"
    with refused(StatusCode.NOT_FOUND, text):
        await present(api, errorIfMissing=True)
    with refused(StatusCode.NOT_FOUND, text):
        await taken(api.events.Watch(event_pb2.WatchRequest(queue="q", job_set_id="s")), 1)


@pytest.mark.parametrize("watch", [False, True])
async def test_an_unknown_queue_has_no_events(api: ServedApi, *, watch: bool) -> None:
    with refused(StatusCode.NOT_FOUND, "[GetJobSetEvents] Queue none does not exist"):
        await present(api, queue="none", watch=watch)


@pytest.mark.parametrize("text", ["x", "-1", "1:2", "1:0:0:2", "9223372036854775808", "\N{FULLWIDTH DIGIT ONE}", "1 "])
async def test_a_text_that_is_no_message_id(api: ServedApi, text: str) -> None:
    with refused(
        StatusCode.INVALID_ARGUMENT,
        f"error reading events: fromMessageId: {text!r} is no id of a message of this stream",
    ):
        await present(api, from_message_id=text)


async def test_an_id_beyond_the_last_message_has_nothing_behind_it(api: ServedApi) -> None:
    await submitted(api)
    assert await present(api, from_message_id="9223372036854775807:0:0:1") == []

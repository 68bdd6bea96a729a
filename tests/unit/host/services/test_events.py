"""The event stream: resumed from any id, followed without polling, each reader woken by its own stream only."""

from itertools import pairwise

import anyio
import pytest

from refloat_host.adapters.store.queries.transaction import Changes
from refloat_host.core.queues import Queue
from refloat_host.core.submission import Submission
from refloat_host.services import events as service
from refloat_host.services.news import News, Signal
from testkit.host.bench import Bench
from testkit.host.values import pod_spec

pytestmark = pytest.mark.anyio


async def submit(bench: Bench, count: int, job_set: str = "s") -> None:
    await bench.jobs.submit("q", job_set, [Submission(pod_spec=pod_spec())] * count)


async def test_a_reader_resumes_behind_any_message(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    await submit(bench, 3)
    whole = await bench.events.read("q", "s")
    assert [message.event.NAME for message in whole] == ["submitted", "queued"] * 3
    assert all(one.message_id < other.message_id for one, other in pairwise(whole))
    for place, message in enumerate(whole):
        assert await bench.events.read("q", "s", after=message.message_id) == whole[place + 1 :]
    assert await bench.events.read("q", "s", limit=2) == whole[:2]
    assert await bench.events.last_id() == whole[-1].message_id


async def test_a_job_set_exists_once_it_has_an_event(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    assert not await bench.events.exists("q", "s")
    await submit(bench, 1)
    assert await bench.events.exists("q", "s")
    assert not await bench.events.exists("other", "s")


async def test_a_follower_gets_what_is_there_and_then_what_comes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_MESSAGES", 3)
    await bench.queues.create(Queue(name="q"))
    await submit(bench, 2)
    seen: list[str] = []
    enough = anyio.Event()

    async def follow() -> None:
        async for message in bench.events.follow("q", "s"):
            seen.append(f"{message.event.NAME} {message.event.job_id}")
            if len(seen) == 8:
                enough.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        while len(seen) < 4:
            await anyio.lowlevel.checkpoint()
        await submit(bench, 1, job_set="other")
        await submit(bench, 2)
        await enough.wait()
        tasks.cancel_scope.cancel()
    assert seen == [f"{kind} job-{number:03}" for number in (1, 2, 4, 5) for kind in ("submitted", "queued")]


async def test_only_readers_of_the_stream_that_grew_are_woken() -> None:
    news = News()
    with news.reading(("q", "a")) as here, news.reading(("q", "b")) as there:
        news.publish(Changes(streams={("q", "a"): None}))
        with anyio.move_on_after(0):
            await there.wait()
            pytest.fail("woken by another stream")
        await here.wait()
    news.publish(Changes(streams={("q", "a"): None}))
    assert not news._readers


async def test_a_signal_is_kept_until_it_is_taken_and_many_become_one() -> None:
    signal = Signal()
    signal.set()
    signal.set()
    await signal.wait()
    with anyio.move_on_after(0) as waited:
        await signal.wait()
    assert waited.cancelled_caught

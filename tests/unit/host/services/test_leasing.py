"""Leasing rounds over a real store: who gets what, what is stored with it, and what is then offered."""

from collections.abc import Sequence
from dataclasses import replace

import anyio
import msgspec
import pytest

from refloat_common.core.ids import ExecutorId, JobId, PodUid, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Lease, NodeFacts
from refloat_host.core.orders import Order
from refloat_host.core.queues import Queue
from refloat_host.core.selection import Selection
from refloat_host.core.submission import Submission
from refloat_host.services.leasing import heads
from refloat_scheduler.core.effects import ClaimStored, HoldReleased, JobRequeued, NodesSaved, RunChanged
from refloat_scheduler.core.model import Claim, JobState, MutationRecord, Run, RunState
from refloat_scheduler.service.contract import ExecutorView, RoomChanged, StoreUnavailable
from testkit.host.bench import NOW_MS, Bench, executor_view
from testkit.host.stores import NODE_ID_LABEL
from testkit.host.values import applied, pod_spec

pytestmark = pytest.mark.anyio

EAST, WEST = ExecutorId("east"), ExecutorId("west")


def node(name: str, memory: str = "64Gi", cpu: str = "16", **labels: str) -> NodeFacts:
    return NodeFacts(name=name, labels=labels, allocatable={"memory": memory, "cpu": cpu})


async def fleet(bench: Bench, *executors: ExecutorId, slots: int = 10) -> None:
    """These executors live, each with one large node, and a queue `q`."""
    bench.plugin.views = [executor_view(name, slots) for name in executors]
    for name in executors:
        applied(bench.store.database, [NodesSaved(executor=name, upserted=(node("n1"),), full=True)])
    await bench.queues.create(Queue(name="q"))


async def submit(bench: Bench, *specs: JsonObject, queue: str = "q", priority: int = 0) -> None:
    submissions = [Submission(pod_spec=spec, priority=priority) for spec in specs]
    await bench.jobs.submit(queue, "s", submissions, owner="anna")


def offered(bench: Bench) -> list[tuple[str, str]]:
    return [(lease.job, executor) for executor, lease in bench.plugin.offered]


async def test_a_lease_is_stored_told_and_offered(bench: Bench) -> None:
    await fleet(bench, EAST)
    await bench.jobs.submit(
        "q",
        "s",
        [Submission(pod_spec=pod_spec(), namespace="night", labels={"a": "b"}, annotations={"n": "x"})],
        "anna",
    )
    assert not await bench.leasing.round()
    job = await bench.jobs.get(JobId("job-001"))
    assert (job.state, job.queued_version) == (JobState.LEASED, 1)
    run = Run(run_id=RunId("run-001"), job_id=job.job_id, ordinal=1, executor=EAST, leased_at_ms=NOW_MS)
    assert job.runs == (run,)
    assert [message.event.NAME for message in await bench.events.read("q", "s")] == ["submitted", "queued", "leased"]
    [(executor, lease)] = bench.plugin.offered
    assert executor == EAST
    assert msgspec.json.decode(lease.pod_spec) == pod_spec()
    assert replace_spec(lease) == Lease(
        run="run-001",
        job="job-001",
        queue="q",
        job_set="s",
        namespace="night",
        pod_spec=b"",
        owner="anna",
        labels={"a": "b"},
        annotations={"n": "x"},
        token=1,
    )


def replace_spec(lease: Lease) -> Lease:
    return msgspec.structs.replace(lease, pod_spec=b"")


async def test_the_same_lease_can_be_read_again_after_a_restart(bench: Bench) -> None:
    await fleet(bench, EAST)
    await submit(bench, pod_spec())
    await bench.leasing.round()
    again = await bench.host.transact(lambda tx: tx.leases([RunId("run-001"), RunId("none")]))
    assert list(again) == [lease for _, lease in bench.plugin.offered]
    await bench.jobs.cancel(Selection([JobId("job-001")]), Order())
    assert await bench.host.transact(lambda tx: tx.leases([RunId("run-001")])) == []


async def test_a_retry_is_rendered_with_what_it_has_accumulated(bench: Bench) -> None:
    await fleet(bench, EAST)
    await submit(bench, pod_spec(memory="1Gi"))
    await bench.leasing.round()
    job = await bench.jobs.get(JobId("job-001"))
    requeued = JobRequeued(
        job_id=job.job_id,
        queued_version=2,
        record=MutationRecord(memory_factor=1.5, avoid=("n7",), version=2),
        requirements=job.requirements,
    )
    failed = replace(job.runs[0], state=RunState.FAILED)
    applied(bench.store.database, [RunChanged(failed), requeued])
    await bench.leasing.round()
    lease = bench.plugin.offered[-1][1]
    assert (lease.run, lease.token) == ("run-011", 2)
    spec = msgspec.json.decode(lease.pod_spec)
    assert spec["containers"][0]["resources"]["limits"]["memory"] == "1536Mi"
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": NODE_ID_LABEL, "operator": "NotIn", "values": ["n7"]}]}]
    job = await bench.jobs.get(JobId("job-001"))
    assert [run.ordinal for run in job.runs] == [1, 2]
    assert job.queued_version == 3


async def test_order_within_a_queue_is_priority_then_submit_time_then_id(bench: Bench) -> None:
    await fleet(bench, EAST, slots=1)
    await submit(bench, pod_spec(), priority=5)
    bench.clock.now_ms += 10
    await submit(bench, pod_spec(), priority=1)
    bench.clock.now_ms -= 20
    await submit(bench, pod_spec(), pod_spec(), priority=5)
    for slots in range(2, 6):
        await bench.leasing.round()
        bench.plugin.views = [executor_view(EAST, slots)]
    assert [job for job, _ in offered(bench)] == ["job-002", "job-003", "job-004", "job-001"]


async def test_a_retried_job_goes_ahead_of_later_submissions(bench: Bench) -> None:
    await fleet(bench, EAST, slots=1)
    await submit(bench, pod_spec())
    await bench.leasing.round()
    bench.clock.now_ms += 10
    await submit(bench, pod_spec())
    job = await bench.jobs.get(JobId("job-001"))
    requeued = JobRequeued(job_id=job.job_id, queued_version=2, record=job.record, requirements=job.requirements)
    applied(bench.store.database, [RunChanged(replace(job.runs[0], state=RunState.FAILED)), requeued])
    bench.plugin.views = [executor_view(EAST, 2)]
    await bench.leasing.round()
    assert [job for job, _ in offered(bench)] == ["job-001", "job-001"]


@pytest.mark.parametrize(
    "view",
    [
        executor_view(EAST, 5, may_lease=False),
        executor_view(EAST, 0),
        executor_view(EAST, 5, unacknowledged=500),
    ],
)
async def test_an_executor_that_may_not_or_cannot_gets_nothing(bench: Bench, view: ExecutorView) -> None:
    await fleet(bench, EAST)
    bench.plugin.views = [view]
    await submit(bench, pod_spec())
    assert not await bench.leasing.round()
    assert bench.plugin.offered == []


async def test_no_more_leases_are_on_the_way_than_the_limit(bench: Bench) -> None:
    await fleet(bench, EAST)
    bench.plugin.views = [executor_view(EAST, 50, unacknowledged=498)]
    await submit(bench, *[pod_spec()] * 5)
    await bench.leasing.round()
    assert len(bench.plugin.offered) == 2


async def test_a_cordoned_queue_waits_and_goes_on_when_it_is_let(bench: Bench) -> None:
    await fleet(bench, EAST)
    await submit(bench, pod_spec())
    await bench.queues.cordon("q", cordoned=True)
    assert not await bench.leasing.round()
    assert bench.plugin.offered == []
    await bench.queues.cordon("q", cordoned=False)
    await bench.news.leasing.wait()
    await bench.leasing.round()
    assert offered(bench) == [("job-001", EAST)]


async def test_a_held_or_claimed_job_is_leased_nowhere(bench: Bench) -> None:
    await fleet(bench, EAST)
    await submit(bench, pod_spec(), pod_spec(), pod_spec())
    held = JobRequeued(
        job_id=JobId("job-001"),
        queued_version=2,
        record=MutationRecord(),
        requirements=(await bench.jobs.get(JobId("job-001"))).requirements,
        hold_for_uid=PodUid("old"),
    )
    applied(bench.store.database, [held, ClaimStored(Claim(RunId("c"), JobId("job-002"), WEST))])
    await bench.leasing.round()
    assert offered(bench) == [("job-003", EAST)]
    await bench.host.transact(lambda tx: tx.apply([HoldReleased(JobId("job-001"))]))
    await bench.news.leasing.wait()
    await bench.leasing.round()
    assert offered(bench)[1:] == [("job-001", EAST)]


async def test_an_executor_whose_nodes_are_too_small_is_passed_over(bench: Bench) -> None:
    await fleet(bench, EAST, WEST)
    applied(bench.store.database, [NodesSaved(executor=EAST, upserted=(node("n1", memory="1Gi"),), full=True)])
    await submit(bench, *[pod_spec(memory="32Gi")] * 3)
    await bench.leasing.round()
    assert {executor for _, executor in offered(bench)} == {WEST}


async def test_a_job_that_fits_nowhere_waits_until_a_node_comes(bench: Bench) -> None:
    await fleet(bench, EAST)
    await submit(bench, pod_spec(memory="512Gi"), pod_spec())
    await bench.leasing.round()
    assert offered(bench) == [("job-002", EAST)]
    big = NodesSaved(executor=EAST, upserted=(node("big", memory="1Ti"),))
    await bench.host.transact(lambda tx: tx.apply([big]))
    await bench.leasing.round()
    assert offered(bench)[1:] == [("job-001", EAST)]


async def test_nodes_that_are_avoided_do_not_count(bench: Bench) -> None:
    await fleet(bench, EAST)
    name = NODE_ID_LABEL
    nodes = (node("n1", **{name: "n1"}), node("n2", **{name: "n2"}))
    applied(bench.store.database, [NodesSaved(executor=EAST, upserted=nodes[:1], full=True)])
    avoiding = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": name, "operator": "NotIn", "values": ["n1"]}]}]
            }
        }
    }
    await submit(bench, pod_spec(affinity=avoiding))
    await bench.leasing.round()
    assert offered(bench) == []
    await bench.host.transact(lambda tx: tx.apply([NodesSaved(executor=EAST, upserted=nodes[1:])]))
    await bench.leasing.round()
    assert offered(bench) == [("job-001", EAST)]


async def test_an_executor_of_which_no_nodes_are_known_yet_gets_nothing(bench: Bench) -> None:
    await fleet(bench, EAST)
    bench.plugin.views = [executor_view(WEST, 5)]
    await submit(bench, pod_spec())
    await bench.leasing.round()
    assert bench.plugin.offered == []


async def test_jobs_behind_many_that_fit_nowhere_are_found_in_later_rounds(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "MAX_PASSED_PER_ROUND", 10)
    monkeypatch.setattr(heads, "MIN_PAGE", 4)
    await fleet(bench, EAST, slots=2)
    await submit(bench, *[pod_spec(memory="512Gi")] * 35, pod_spec())
    rounds = 1
    while await bench.leasing.round():
        rounds += 1
    assert offered(bench) == [("job-036", EAST)]
    assert 3 <= rounds <= 6, "each round looks at a bounded number of jobs"


async def test_queues_share_by_their_factors_whatever_the_pages(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "MIN_PAGE", 2)
    monkeypatch.setattr(heads, "MAX_PAGE", 2)
    await fleet(bench, EAST, slots=12)
    await bench.queues.create(Queue(name="third", priority_factor=3))
    await submit(bench, *[pod_spec()] * 12)
    await submit(bench, *[pod_spec()] * 12, queue="third")
    await bench.leasing.round()
    jobs = [await bench.jobs.get(JobId(job)) for job, _ in offered(bench)]
    assert sorted(job.queue for job in jobs) == ["q"] * 9 + ["third"] * 3


async def test_a_full_round_asks_for_another(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refloat_host.services.leasing.loop.MAX_LEASES_PER_ROUND", 4)
    await fleet(bench, EAST, slots=7)
    await submit(bench, *[pod_spec()] * 9)
    again: Sequence[bool] = [await bench.leasing.round() for _ in range(3)]
    assert (list(again), len(bench.plugin.offered)) == ([True, False, False], 7)


async def test_the_loop_sleeps_until_there_is_news(bench: Bench) -> None:
    await fleet(bench, EAST, slots=1)
    await submit(bench, pod_spec(), pod_spec())

    async def until(count: int) -> None:
        while len(bench.plugin.offered) < count:
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.leasing.run)
        await until(1)
        bench.plugin.views = [executor_view(EAST, 2)]
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        assert len(bench.plugin.offered) == 1, "nobody told the loop"
        bench.host.notify(RoomChanged(EAST))
        await until(2)
        tasks.cancel_scope.cancel()


async def test_an_unavailable_store_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refloat_host.services.leasing.loop.RETRY_AFTER_S", 0)
    await fleet(bench, EAST)
    await submit(bench, pod_spec())
    down = [3]
    real = bench.leasing.round

    async def failing() -> bool:
        if down[0]:
            down[0] -= 1
            raise StoreUnavailable("disk full")
        return await real()

    monkeypatch.setattr(bench.leasing, "round", failing)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.leasing.run)
        while not bench.plugin.offered:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert down == [0]

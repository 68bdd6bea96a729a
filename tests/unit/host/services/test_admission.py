"""Jobs that no node could ever take fail as they are submitted; while no node is known, all may wait."""

import pytest

from refloat_common.core.ids import ExecutorId, JobId
from refloat_common.core.messages import NodeFacts
from refloat_common.core.taxonomy import ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_host.core.queues import Queue
from refloat_host.core.submission import Submission
from refloat_scheduler.core.effects import Effect, ExecutorRecord, ExecutorSaved, NodesSaved
from refloat_scheduler.core.events import Event, JobFailed
from refloat_scheduler.core.model import JobState
from testkit.host.bench import NOW_MS, Bench, executor_view
from testkit.host.values import applied, pod_spec

pytestmark = pytest.mark.anyio

TOO_BIG = "No node that executors have reported could ever take this job.\n2 of 2: less cpu than 9"


def nodes(executor: str, *cpus: str) -> list[Effect]:
    """An executor and its nodes."""
    name = ExecutorId(executor)
    facts = tuple(
        NodeFacts(name=f"{executor}-{number}", allocatable={"cpu": cpu, "memory": "8Gi"})
        for number, cpu in enumerate(cpus)
    )
    return [ExecutorSaved(ExecutorRecord(executor=name)), NodesSaved(executor=name, full=True, upserted=facts)]


async def submitted(bench: Bench, *cpus: str, gang: str = "", client_id: str = "") -> list[JobState]:
    """The states of jobs that ask for these cpus, submitted in one request."""
    marks = {ANNOTATION_GANG_ID: gang, ANNOTATION_GANG_CARDINALITY: str(len(cpus))} if gang else {}
    jobs = [Submission(pod_spec=pod_spec(cpu=cpu), annotations=marks, client_id=client_id) for cpu in cpus]
    answers = await bench.jobs.submit("q", "s", jobs)
    return [(await bench.jobs.get(answer.job_id)).state for answer in answers]


async def told(bench: Bench, job_id: str) -> list[Event]:
    return [message.event for message in await bench.events.read("q", "s") if message.event.job_id == job_id]


async def test_only_what_fits_no_node_of_any_executor_is_rejected(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    applied(bench.store.database, [*nodes("east", "2"), *nodes("west", "8")])
    assert await submitted(bench, "1", "9", "8") == [JobState.QUEUED, JobState.REJECTED, JobState.QUEUED]
    rejected = await bench.jobs.get(JobId("job-002"))
    assert (rejected.ended_at_ms, rejected.runs) == (NOW_MS, ())
    events = await told(bench, "job-002")
    assert [event.NAME for event in events] == ["submitted", "queued", "failed"]
    assert events[2] == JobFailed(
        job_id=JobId("job-002"),
        job_set_id="s",
        queue="q",
        created_ms=NOW_MS,
        reason=TOO_BIG,
        cause="Rejected",
        failure_category="internal",
        failure_subcategory="job-rejected",
    )


async def test_a_rejected_job_is_never_leased(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    applied(bench.store.database, [*nodes("east", "2"), *nodes("west", "8")])
    await submitted(bench, "9", "1")
    applied(bench.store.database, nodes("west", "16"))
    bench.fits.forget([ExecutorId("west")])
    bench.plugin.views = [executor_view("west", 5)]
    await bench.leasing.round()
    assert [lease.job for _, lease in bench.plugin.offered] == ["job-002"]


async def test_while_no_node_is_known_every_job_waits(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    assert await submitted(bench, "900") == [JobState.QUEUED]
    applied(bench.store.database, nodes("east"))
    assert await submitted(bench, "900") == [JobState.QUEUED]


async def test_new_nodes_count_for_the_next_submission(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    await bench.store.transact(lambda tx: tx.apply(nodes("east", "2")))
    assert await submitted(bench, "9") == [JobState.REJECTED]
    await bench.store.transact(lambda tx: tx.apply(nodes("east", "16")))
    assert await submitted(bench, "9") == [JobState.QUEUED]


async def test_a_gang_is_rejected_whole(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    applied(bench.store.database, [*nodes("east", "2"), *nodes("west", "8")])
    assert await submitted(bench, "1", "9", gang="g") == [JobState.REJECTED, JobState.REJECTED]
    events = [*await told(bench, "job-001"), *await told(bench, "job-002")]
    assert [event.reason for event in events if isinstance(event, JobFailed)] == [
        f"Job job-002 of the same gang was rejected:\n{TOO_BIG}",
        TOO_BIG,
    ]
    assert await submitted(bench, "1", "8", gang="g") == [JobState.QUEUED, JobState.QUEUED]


async def test_a_rejected_job_sent_again_stays_rejected_and_is_told_once(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    applied(bench.store.database, nodes("east", "2"))
    assert await submitted(bench, "9", client_id="mine") == [JobState.REJECTED]
    assert await submitted(bench, "9", client_id="mine") == [JobState.REJECTED]
    assert [event.NAME for event in await told(bench, "job-001")] == ["submitted", "queued", "failed"]


async def test_a_rejection_alone_does_not_wake_the_leasing_loop(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    await bench.news.leasing.wait()
    applied(bench.store.database, nodes("east", "2"))
    await submitted(bench, "9")
    assert not bench.news.leasing._event.is_set()
    await submitted(bench, "9", "1")
    assert bench.news.leasing._event.is_set()

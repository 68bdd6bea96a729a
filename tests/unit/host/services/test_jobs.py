"""Jobs over the service: submitted whole or not at all, cancelled, preempted, reprioritized."""

from dataclasses import replace

import pytest

from refloat_common.core.ids import JobId, RunId
from refloat_host.core.errors import InvalidFieldError, NotFoundError
from refloat_host.core.orders import Order
from refloat_host.core.queues import Queue
from refloat_host.core.selection import Selection
from refloat_host.core.submission import Submission
from refloat_host.services.jobs import Submitted
from refloat_scheduler.core.effects import RunChanged
from refloat_scheduler.core.model import ErrorKind, Job, JobState, Requirements, RunState
from testkit.host.bench import NOW_MS, Bench
from testkit.host.values import EXECUTOR, applied, leased, pod_spec

pytestmark = pytest.mark.anyio

WHO = Order("anna", "operator asked")


async def one_job(bench: Bench, *, lease: bool = False) -> Job:
    await bench.queues.create(Queue(name="q"))
    await bench.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())])
    job = await bench.jobs.get(JobId("job-001"))
    if lease:
        applied(bench.store.database, leased(job, 1))
        job = await bench.jobs.get(JobId("job-001"))
        running = replace(job.runs[0], state=RunState.RUNNING, node="n1", attempted=True)
        applied(bench.store.database, [RunChanged(running)])
    return await bench.jobs.get(JobId("job-001"))


async def told(bench: Bench) -> list[str]:
    return [message.event.NAME for message in await bench.events.read("q", "s")]


async def test_a_submitted_job_waits_with_everything_it_asked_for(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    submission = Submission(
        pod_spec=pod_spec(memory="2Gi", nodeSelector={"zone": "a"}),
        namespace="night",
        priority=7,
        labels={"team": "ml"},
        annotations={"note": "x"},
    )
    submitted = await bench.jobs.submit("q", "s", [submission], owner="anna")
    assert submitted == [Submitted(JobId("job-001"))]
    assert await bench.jobs.get(JobId("job-001")) == Job(
        job_id=JobId("job-001"),
        queue="q",
        job_set="s",
        owner="anna",
        namespace="night",
        labels={"team": "ml"},
        annotations={"note": "x"},
        priority=7,
        submitted_at_ms=NOW_MS,
        requirements=Requirements(
            requests={"memory": "2Gi", "cpu": "1"},
            limits={"memory": "2Gi", "cpu": "1"},
            node_selector={"zone": "a"},
        ),
    )
    assert await told(bench) == ["submitted", "queued"]


async def test_jobs_of_one_request_keep_their_order(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    submitted = await bench.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())] * 3)
    assert [each.job_id for each in submitted] == ["job-001", "job-002", "job-003"]
    assert [job.job_id for job in await bench.jobs.list("q", "s")] == ["job-001", "job-002", "job-003"]
    behind = await bench.jobs.list("q", "s", after=JobId("job-001"), limit=1)
    assert [job.job_id for job in behind] == ["job-002"]


async def test_a_submission_wakes_the_leasing_loop(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    await bench.news.leasing.wait()
    await bench.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())])
    await bench.news.leasing.wait()


async def test_an_unknown_queue_takes_no_jobs(bench: Bench) -> None:
    with pytest.raises(NotFoundError, match='could not find queue "q"'):
        await bench.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())])
    assert await bench.events.last_id() == 0


async def test_one_bad_job_refuses_the_whole_request(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    with pytest.raises(InvalidFieldError, match=r"jobRequestItems\[1\]\.podSpec"):
        await bench.jobs.submit("q", "s", [Submission(pod_spec=pod_spec()), Submission(pod_spec={})])
    assert await bench.jobs.list("q", "s") == []


async def test_a_clients_id_sent_again_stands_for_the_same_job(bench: Bench) -> None:
    await bench.queues.create(Queue(name="q"))
    mine = Submission(pod_spec=pod_spec(), client_id="mine")
    plain = Submission(pod_spec=pod_spec())
    first = await bench.jobs.submit("q", "s", [mine, plain, mine])
    assert first == [
        Submitted(JobId("job-001")),
        Submitted(JobId("job-002")),
        Submitted(JobId("job-001"), known=True),
    ]
    again = await bench.jobs.submit("q", "other", [mine])
    assert again == [Submitted(JobId("job-001"), known=True)]
    assert await told(bench) == ["submitted", "queued"] * 2
    await bench.queues.create(Queue(name="other"))
    elsewhere = await bench.jobs.submit("other", "s", [mine])
    assert [each.known for each in elsewhere] == [False]


async def test_a_queued_job_is_cancelled_at_once(bench: Bench) -> None:
    job = await one_job(bench)
    assert await bench.jobs.cancel(Selection([job.job_id]), WHO) == [job.job_id]
    after = await bench.jobs.get(job.job_id)
    assert after == replace(job, state=JobState.CANCELLED, ended_at_ms=NOW_MS)
    assert await told(bench) == ["submitted", "queued", "cancelling", "cancelled"]
    assert bench.plugin.killed == []


async def test_cancelling_a_leased_job_ends_it_and_then_kills_its_run(bench: Bench) -> None:
    job = await one_job(bench, lease=True)
    assert await bench.jobs.cancel(Selection([job.job_id]), WHO) == [job.job_id]
    after = await bench.jobs.get(job.job_id)
    run = replace(job.runs[0], state=RunState.CANCELLED, ended_at_ms=NOW_MS)
    assert after == replace(job, state=JobState.CANCELLED, ended_at_ms=NOW_MS, runs=(run,))
    assert await told(bench) == ["submitted", "queued", "leased", "cancelling", "cancelled"]
    assert bench.plugin.killed == [(EXECUTOR, (RunId("run-001"),), "operator asked")]


async def test_what_is_over_or_unknown_is_not_cancelled_again(bench: Bench) -> None:
    job = await one_job(bench)
    twice = Selection([job.job_id, JobId("unknown"), job.job_id])
    assert await bench.jobs.cancel(twice, WHO) == [job.job_id]
    assert await bench.jobs.cancel(twice, WHO) == []
    assert (await told(bench)).count("cancelled") == 1


async def test_a_whole_job_set_is_cancelled_in_bounded_transactions(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refloat_host.services.jobs.MAX_JOBS_PER_TRANSACTION", 2)
    await one_job(bench, lease=True)
    await bench.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())] * 4)
    await bench.jobs.submit("q", "other", [Submission(pod_spec=pod_spec())])
    cancelled = await bench.jobs.cancel(Selection(queue="q", job_set="s"), WHO)
    assert cancelled == [f"job-{number:03}" for number in range(1, 6)]
    assert [job.job_id for job in await bench.jobs.list("q")] == ["job-006"]
    assert len(bench.plugin.killed) == 1


@pytest.mark.parametrize("selection", [Selection(), Selection(queue="q"), Selection(job_set="s")])
async def test_an_order_for_nothing_is_refused(bench: Bench, selection: Selection) -> None:
    for order in (bench.jobs.cancel(selection, WHO), bench.jobs.preempt(selection, WHO)):
        with pytest.raises(InvalidFieldError, match=r"jobIds: \[\] must hold a job"):
            await order
    with pytest.raises(InvalidFieldError):
        await bench.jobs.reprioritize(selection, 1, WHO)


async def test_a_preempted_job_ends_with_armadas_events_and_texts(bench: Bench) -> None:
    job = await one_job(bench, lease=True)
    assert await bench.jobs.preempt(Selection([job.job_id]), WHO) == [job.job_id]
    after = await bench.jobs.get(job.job_id)
    assert after.state is JobState.PREEMPTED
    [run] = after.runs
    assert (run.state, run.preempted, run.ended_at_ms) == (RunState.PREEMPTED, True, NOW_MS)
    assert run.error is not None
    assert (run.error.kind, run.error.message) == (
        ErrorKind.JOB_RUN_PREEMPTED,
        "Preempted by anna - operator asked",
    )
    events = [message.event for message in await bench.events.read("q", "s")][3:]
    assert [event.NAME for event in events] == ["preempting", "preempted", "failed"]
    assert [getattr(event, "reason", None) for event in events] == [
        "operator asked",
        "Preempted by anna - operator asked",
        "Preempted by anna - operator asked",
    ]
    assert getattr(events[2], "retryable", None) is False
    assert bench.plugin.killed == [(EXECUTOR, (RunId("run-001"),), "operator asked")]


async def test_a_preemption_by_nobody_in_particular_says_so(bench: Bench) -> None:
    job = await one_job(bench, lease=True)
    await bench.jobs.preempt(Selection([job.job_id]), Order())
    last = (await bench.events.read("q", "s"))[-1].event
    assert getattr(last, "reason", "") == "Preempted - preemption requested via API"


async def test_a_queued_job_cannot_be_preempted(bench: Bench) -> None:
    job = await one_job(bench)
    assert await bench.jobs.preempt(Selection([job.job_id]), WHO) == []
    assert await bench.jobs.get(job.job_id) == job


async def test_a_new_priority_is_told_once(bench: Bench) -> None:
    job = await one_job(bench)
    assert await bench.jobs.reprioritize(Selection([job.job_id]), 9, WHO) == [job.job_id]
    assert await bench.jobs.reprioritize(Selection(queue="q", job_set="s"), 9, WHO) == []
    assert await bench.jobs.get(job.job_id) == replace(job, priority=9)
    assert await told(bench) == ["submitted", "queued", "reprioritizing", "reprioritized"]
    with pytest.raises(InvalidFieldError, match="newPriority: -1 must be between"):
        await bench.jobs.reprioritize(Selection([job.job_id]), -1, WHO)


async def test_a_job_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(NotFoundError, match='could not find job "none"'):
        await bench.jobs.get(JobId("none"))


async def test_an_id_under_another_queue_or_job_set_is_unknown_there(bench: Bench) -> None:
    job = await one_job(bench)
    for elsewhere in (Selection([job.job_id], "other", "s"), Selection([job.job_id], "q", "other")):
        assert await bench.jobs.cancel(elsewhere, WHO) == []
        assert await bench.jobs.reprioritize(elsewhere, 3, WHO) == []
    assert await bench.jobs.get(job.job_id) == job
    assert await bench.jobs.cancel(Selection([job.job_id], "q", "s"), WHO) == [job.job_id]


@pytest.mark.parametrize(
    ("selection", "cancelled"),
    [
        (Selection(queue="q", whole_queue=True), ["job-001", "job-002", "job-003"]),
        (Selection(queue="q", whole_queue=True, standings=frozenset({"queued"})), ["job-002", "job-003"]),
        (Selection(queue="q", job_set="s", standings=frozenset({"running"})), ["job-001"]),
        (Selection(queue="q", job_set="s", standings=frozenset({"leased", "pending"})), []),
        (Selection(queue="q", whole_queue=True, priority_classes=frozenset({"high", "low"})), ["job-003"]),
        (Selection(queue="q", whole_queue=True, pools=frozenset({"default"})), ["job-001"]),
        (Selection(queue="q", whole_queue=True, pools=frozenset({"gpu"})), []),
    ],
)
async def test_an_order_takes_what_meets_all_its_conditions(
    bench: Bench, selection: Selection, cancelled: list[str]
) -> None:
    await one_job(bench, lease=True)
    await bench.jobs.submit("q", "t", [Submission(pod_spec=pod_spec())])
    await bench.jobs.submit("q", "t", [Submission(pod_spec=pod_spec(priorityClassName="high"))])
    assert list(await bench.jobs.cancel(selection, WHO)) == cancelled


async def test_an_order_for_too_many_ids_is_refused(bench: Bench) -> None:
    with pytest.raises(InvalidFieldError, match="jobIds: 10001 must be at most 10000 jobs"):
        await bench.jobs.cancel(Selection([JobId("x")] * 10_001), WHO)


async def test_those_jobs_that_exist_are_found(bench: Bench) -> None:
    job = await one_job(bench)
    assert await bench.jobs.find([JobId("none"), job.job_id]) == {job.job_id: job}

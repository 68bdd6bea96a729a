"""Jobs are cancelled, preempted and reprioritized over a real server: every answer, status and text."""

from collections.abc import Callable
from typing import Any

import pytest
from armada_client.armada import health_pb2
from armada_client.armada import submit_pb2 as pb
from google.protobuf.empty_pb2 import Empty
from grpc import StatusCode

from refloat_common.core.ids import ExecutorId, RunId
from refloat_scheduler.core.model import JobState
from testkit.host.api import ServedApi, refused
from testkit.host.api_jobs import leased, states, submitted

pytestmark = pytest.mark.anyio

CANCELLED, QUEUED = JobState.CANCELLED, JobState.QUEUED


@pytest.fixture(autouse=True)
async def queues(api: ServedApi) -> None:
    for name in ("q", "other"):
        await api.queues.CreateQueue(pb.Queue(name=name, priority_factor=1))


def cancel(**fields: Any) -> pb.JobCancelRequest:
    given: dict[str, Any] = {"queue": "q", "job_set_id": "s"} | fields
    return pb.JobCancelRequest(**given)


async def told(api: ServedApi) -> list[tuple[str, str, str]]:
    """Name, requestor and reason of each event of the job set."""
    events = [message.event for message in await api.services.events.read("q", "s")]
    return [(event.NAME, getattr(event, "requestor", ""), getattr(event, "reason", "")) for event in events]


async def test_the_answer_to_a_cancellation_names_what_was_not_over(api: ServedApi) -> None:
    first, second, third = [(await submitted(api))[0] for _ in range(3)]
    answer = await api.submit.CancelJobs(cancel(job_id=first, job_ids=[second, "none", second], reason="no need"))
    assert sorted(answer.cancelled_ids) == sorted([first, second])
    assert await states(api, first, second, third) == [CANCELLED, CANCELLED, QUEUED]
    again = await api.submit.CancelJobs(cancel(job_id=first))
    assert again == pb.CancellationResult()
    assert (await told(api)).count(("cancelled", "anonymous", "no need")) == 2


async def test_cancelling_a_leased_job_kills_its_run(api: ServedApi) -> None:
    job_id = await leased(api)
    await api.submit.CancelJobs(cancel(job_id=job_id, reason="x" * 600))
    assert api.plugin.killed == [(ExecutorId("east"), (RunId(f"run-of-{job_id}"),), "x" * 512)]


async def test_a_cancellation_without_ids_is_for_the_job_set(api: ServedApi) -> None:
    mine = await submitted(api, job_set_id="s")
    other = await submitted(api, job_set_id="t")
    answer = await api.submit.CancelJobs(cancel())
    assert list(answer.cancelled_ids) == mine
    assert await states(api, *mine, *other) == [CANCELLED, QUEUED]


async def test_an_id_of_another_queue_or_job_set_is_left_alone(api: ServedApi) -> None:
    [job_id] = await submitted(api)
    assert await api.submit.CancelJobs(cancel(job_id=job_id, queue="other")) == pb.CancellationResult()
    assert await api.submit.CancelJobs(cancel(job_id=job_id, job_set_id="t")) == pb.CancellationResult()
    assert await states(api, job_id) == [QUEUED]


@pytest.mark.parametrize(
    ("filtered", "after"),
    [
        ([], [CANCELLED, CANCELLED]),
        ([pb.QUEUED], [CANCELLED, JobState.LEASED]),
        ([pb.PENDING, pb.RUNNING], [QUEUED, CANCELLED]),
        ([pb.RUNNING], [QUEUED, JobState.LEASED]),
    ],
)
async def test_a_job_set_is_cancelled_by_state(api: ServedApi, filtered: list[Any], after: list[JobState]) -> None:
    [queued] = await submitted(api)
    held = await leased(api)
    request = pb.JobSetCancelRequest(queue="q", job_set_id="s", filter=pb.JobSetFilter(states=filtered))
    assert await api.submit.CancelJobSet(request) == Empty()
    assert await states(api, queued, held) == after


async def test_a_state_that_ends_a_job_is_no_filter(api: ServedApi) -> None:
    request = pb.JobSetCancelRequest(queue="q", job_set_id="s", filter=pb.JobSetFilter(states=[pb.FAILED]))
    text = "error cancelling job set s: filter.states: 'FAILED' must be QUEUED, LEASED, PENDING or RUNNING"
    with refused(StatusCode.INVALID_ARGUMENT, text):
        await api.submit.CancelJobSet(request)


async def test_preemption_ends_leased_jobs_and_says_why_not_others(api: ServedApi) -> None:
    held = await leased(api)
    [queued, over] = [(await submitted(api))[0] for _ in range(2)]
    await api.submit.CancelJobs(cancel(job_id=over))
    request = pb.JobPreemptRequest(queue="q", job_set_id="s", job_ids=[held, queued, over, "none"], reason="asked")
    answer = await api.submit.PreemptJobs(request)
    assert dict(answer.preemption_results) == {
        held: "",
        queued: "the job is queued and holds no node",
        over: "the job is over: cancelled",
        "none": 'could not find job "none" in job set "s"',
    }
    assert await states(api, held, queued) == [JobState.PREEMPTED, QUEUED]
    assert ("preempting", "anonymous", "asked") in await told(api)
    assert ("preempted", "anonymous", "Preempted by anonymous - asked") in await told(api)


async def test_a_new_priority_for_jobs_and_for_a_job_set(api: ServedApi) -> None:
    first, second = [(await submitted(api))[0] for _ in range(2)]
    await api.submit.CancelJobs(cancel(job_id=second))
    request = pb.JobReprioritizeRequest(queue="q", job_set_id="s", job_ids=[first, second, "none"], new_priority=2.5)
    for _ in range(2):
        answer = await api.submit.ReprioritizeJobs(request)
        assert dict(answer.reprioritization_results) == {
            first: "",
            second: "the job is over: cancelled",
            "none": 'could not find job "none" in job set "s"',
        }
    assert (await api.services.jobs.get(first)).priority == 3
    everyone = pb.JobReprioritizeRequest(queue="q", job_set_id="s", new_priority=9)
    answer = await api.submit.ReprioritizeJobs(everyone)
    assert dict(answer.reprioritization_results) == {"all jobs in job set s": ""}
    assert (await api.services.jobs.get(first)).priority == 9


@pytest.mark.parametrize("priority", [float("nan"), float("inf"), -0.5, 4294967296.0])
async def test_a_priority_that_is_none(api: ServedApi, priority: float) -> None:
    request = pb.JobReprioritizeRequest(queue="q", job_set_id="s", new_priority=priority)
    text = f"error reprioritizing jobs: newPriority: {priority} must be between 0 and 4294967295"
    with refused(StatusCode.INVALID_ARGUMENT, text):
        await api.submit.ReprioritizeJobs(request)


ORDERS: dict[str, tuple[Callable[..., Any], str]] = {
    "CancelJobs": (pb.JobCancelRequest, "cancelling jobs"),
    "CancelJobSet": (pb.JobSetCancelRequest, "cancelling job set {set}"),
    "PreemptJobs": (pb.JobPreemptRequest, "preempting jobs"),
    "ReprioritizeJobs": (pb.JobReprioritizeRequest, "reprioritizing jobs"),
}


@pytest.mark.parametrize("name", ORDERS)
async def test_an_order_names_a_queue_that_exists_and_a_job_set(api: ServedApi, name: str) -> None:
    kind, doing = ORDERS[name]
    ids = {"job_ids": ["x"]} if "Jobs" in name else {}
    call = getattr(api.submit, name)
    with refused(StatusCode.INVALID_ARGUMENT, f"error {doing.format(set='s')}: queue: '' must not be empty"):
        await call(kind(job_set_id="s", **ids))
    within = doing.format(set="").rstrip()
    with refused(StatusCode.INVALID_ARGUMENT, f"error {within}: jobSetId: '' must not be empty"):
        await call(kind(queue="q", **ids))
    with refused(StatusCode.NOT_FOUND, 'error: could not find queue "none"'):
        await call(kind(queue="none", job_set_id="s", **ids))


async def test_a_preemption_names_jobs(api: ServedApi) -> None:
    with refused(StatusCode.INVALID_ARGUMENT, "error preempting jobs: jobIds: [] must hold a job"):
        await api.submit.PreemptJobs(pb.JobPreemptRequest(queue="q", job_set_id="s"))


async def test_both_services_say_that_they_are_well(api: ServedApi) -> None:
    well = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
    assert await api.submit.Health(Empty()) == well
    assert await api.events.Health(Empty()) == well

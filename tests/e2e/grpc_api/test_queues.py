"""Queues over a real server, on `api.QueueService` and on `api.Submit`: every call, every status and text."""

from typing import Any

import pytest
from armada_client.armada import submit_pb2 as pb
from google.protobuf.empty_pb2 import Empty
from grpc import StatusCode

from refloat_common.core.ids import JobId
from refloat_scheduler.core.model import JobState
from testkit.host.api import ServedApi, refused
from testkit.podproto.rich import pod

pytestmark = pytest.mark.anyio

KINDS = ("queues", "submit")
WHOLE = pb.Queue(
    name="night",
    priority_factor=2.5,
    user_owners=["anna", "bo"],
    group_owners=["ml"],
    permissions=[
        pb.Queue.Permissions(
            subjects=[pb.Queue.Permissions.Subject(kind="Group", name="ml")], verbs=["submit", "watch"]
        )
    ],
    cordoned=True,
    labels={"team": "ml"},
    resource_limits={"cpu": 0.5},
    resource_limits_by_priority_class_name={
        "high": pb.PriorityClassResourceLimits(
            maximum_resource_fraction={"cpu": 0.25},
            maximum_resource_fraction_by_pool={
                "gpu": pb.PriorityClassPoolResourceLimits(maximum_resource_fraction={"gpu": 1.0})
            },
        )
    },
    retry_policies=["b", "a"],
)


def queue(**fields: Any) -> pb.Queue:
    given: dict[str, Any] = {"name": "q", "priority_factor": 1.0} | fields
    return pb.Queue(**given)


async def policies(api: ServedApi, *names: str) -> None:
    for name in names:
        await api.policies.CreateRetryPolicy(pb.RetryPolicy(name=name, default_action=pb.RETRY_ACTION_FAIL))


async def listed(stub: Any, num: int = 0) -> list[pb.StreamingQueueMessage]:
    return [message async for message in stub.GetQueues(pb.StreamingQueueGetRequest(num=num))]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_queue_is_served_as_it_was_created(api: ServedApi, kind: str) -> None:
    stub = getattr(api, kind)
    await policies(api, "a", "b")
    assert await stub.CreateQueue(WHOLE) == Empty()
    assert await stub.GetQueue(pb.QueueGetRequest(name="night")) == WHOLE


@pytest.mark.parametrize("kind", KINDS)
async def test_queues_are_listed_in_order_of_name_and_then_comes_the_end(api: ServedApi, kind: str) -> None:
    stub = getattr(api, kind)
    for name in ("b", "a"):
        await stub.CreateQueue(queue(name=name, user_owners=["anna"]))
    first = pb.StreamingQueueMessage(queue=queue(name="a", user_owners=["anna"]))
    second = pb.StreamingQueueMessage(queue=queue(name="b", user_owners=["anna"]))
    end = pb.StreamingQueueMessage(end=pb.EndMarker())
    assert await listed(stub) == [first, second, end]
    assert await listed(stub, num=1) == [first, end]


async def test_a_queue_created_without_owners_belongs_to_the_caller(api: ServedApi) -> None:
    await api.queues.CreateQueue(queue())
    assert await api.queues.GetQueue(pb.QueueGetRequest(name="q")) == queue(user_owners=["anonymous"])


@pytest.mark.parametrize("kind", KINDS)
async def test_update_replaces_the_whole_queue_and_makes_one_that_is_missing(api: ServedApi, kind: str) -> None:
    stub = getattr(api, kind)
    await policies(api, "a", "b")
    await stub.CreateQueue(WHOLE)
    assert await stub.UpdateQueue(pb.Queue(name="night", priority_factor=1)) == Empty()
    assert await stub.GetQueue(pb.QueueGetRequest(name="night")) == pb.Queue(name="night", priority_factor=1)
    await stub.UpdateQueue(queue())
    assert await stub.GetQueue(pb.QueueGetRequest(name="q")) == queue()


async def test_repeated_policies_collapse_to_their_first_place(api: ServedApi) -> None:
    await policies(api, "a", "b")
    await api.queues.UpdateQueue(queue(retry_policies=["b", "a", "b"]))
    assert await api.queues.GetQueue(pb.QueueGetRequest(name="q")) == queue(retry_policies=["b", "a"])


async def test_a_queue_may_not_name_policies_that_do_not_exist(api: ServedApi) -> None:
    await policies(api, "a")
    bad = queue(retry_policies=["b", "a", " a"])
    why = 'retry policies do not exist: "b", " a"'
    with refused(StatusCode.INVALID_ARGUMENT, f"error creating queue: {why}"):
        await api.queues.CreateQueue(bad)
    with refused(StatusCode.INVALID_ARGUMENT, f"error updating queue: {why}"):
        await api.queues.UpdateQueue(bad)
    assert await listed(api.queues) == [pb.StreamingQueueMessage(end=pb.EndMarker())]


SUBJECT = pb.Queue.Permissions.Subject
NO_LABEL_VALUE = "is no Kubernetes label value, and every pod of the queue carries it"
REFUSED = {
    "no name": (queue(name=""), f"name: '' {NO_LABEL_VALUE}"),
    "a bad name": (queue(name="a b"), f"name: 'a b' {NO_LABEL_VALUE}"),
    "a small factor": (
        queue(priority_factor=0.5),
        "priorityFactor: 0.5 must be a finite number of at least 1.0",
    ),
    "no factor": (pb.Queue(name="q"), "priorityFactor: 0.0 must be a finite number of at least 1.0"),
    "NaN": (queue(priority_factor=float("nan")), "priorityFactor: nan must be a finite number of at least 1.0"),
    "infinity": (queue(priority_factor=float("inf")), "priorityFactor: inf must be a finite number of at least 1.0"),
    "an empty label": (queue(labels={"a": ""}), "labels: 'a=' must have a key and a value"),
    "a subject's kind": (
        queue(permissions=[pb.Queue.Permissions(subjects=[SUBJECT(kind="Robot", name="r")])]),
        "permissions.subjects.kind: 'Robot' must be User or Group",
    ),
    "a verb": (
        queue(permissions=[pb.Queue.Permissions(verbs=["fly"])]),
        "permissions.verbs: 'fly' must be one of submit, cancel, preempt, reprioritize, watch",
    ),
    "a limit": (
        queue(resource_limits={"cpu": float("nan")}),
        "resourceLimits[cpu]: nan must be a finite number, not negative",
    ),
    "old labels": (queue(labels_deprecated=["a=b"]), "labelsDeprecated: ['a=b'] is not kept; use labels"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_an_invalid_queue_is_stored_by_no_call(api: ServedApi, name: str) -> None:
    message, text = REFUSED[name]
    with refused(StatusCode.INVALID_ARGUMENT, f"error creating queue: {text}"):
        await api.queues.CreateQueue(message)
    with refused(StatusCode.INVALID_ARGUMENT, f"error updating queue: {text}"):
        await api.submit.UpdateQueue(message)
    assert len(await listed(api.queues)) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_of_several_queues_the_sound_ones_are_stored_and_the_others_named(api: ServedApi, kind: str) -> None:
    stub = getattr(api, kind)
    batch = pb.QueueList(queues=[queue(name="a"), queue(name="b", priority_factor=0), queue(name="c")])
    why = "priorityFactor: 0.0 must be a finite number of at least 1.0"
    created = await stub.CreateQueues(batch)
    updated = await stub.UpdateQueues(batch)
    assert [(failed.queue.name, failed.error) for failed in created.failed_queues] == [
        ("b", f"error creating queue: {why}")
    ]
    assert [(failed.queue.name, failed.error) for failed in updated.failed_queues] == [
        ("b", f"error updating queue: {why}")
    ]
    assert [message.queue.name for message in await listed(stub)] == ["a", "c", ""]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_unknown_queue_is_not_found_but_may_be_deleted(api: ServedApi, kind: str) -> None:
    stub = getattr(api, kind)
    with refused(StatusCode.NOT_FOUND, 'error: could not find queue "q"'):
        await stub.GetQueue(pb.QueueGetRequest(name="q"))
    assert await stub.DeleteQueue(pb.QueueDeleteRequest(name="q")) == Empty()
    with refused(StatusCode.INVALID_ARGUMENT, "error deleting queue: name: '' must not be empty"):
        await stub.DeleteQueue(pb.QueueDeleteRequest())


async def test_a_queue_with_unfinished_jobs_is_not_deleted(api: ServedApi) -> None:
    await api.queues.CreateQueue(queue())
    await submit(api, 2)
    text = 'error deleting queue q: queue "q" has 2 unfinished jobs; cancel them or wait for them first'
    with refused(StatusCode.FAILED_PRECONDITION, text):
        await api.queues.DeleteQueue(pb.QueueDeleteRequest(name="q"))
    await api.queues.CancelOnQueue(pb.QueueCancelRequest(name="q"))
    assert await api.queues.DeleteQueue(pb.QueueDeleteRequest(name="q")) == Empty()
    assert len(await listed(api.queues)) == 1


async def test_cordoning_keeps_the_rest_of_the_queue(api: ServedApi) -> None:
    await policies(api, "a")
    await api.queues.UpdateQueue(queue(retry_policies=["a"]))
    await api.queues.CordonQueue(pb.QueueCordonRequest(name="q"))
    cordoned = queue(retry_policies=["a"], cordoned=True)
    assert await api.queues.GetQueue(pb.QueueGetRequest(name="q")) == cordoned
    await api.queues.UncordonQueue(pb.QueueUncordonRequest(name="q"))
    assert await api.queues.GetQueue(pb.QueueGetRequest(name="q")) == queue(retry_policies=["a"])


ON_QUEUE = {
    "CordonQueue": (pb.QueueCordonRequest, "cordoning queue"),
    "UncordonQueue": (pb.QueueUncordonRequest, "uncordoning queue"),
    "CancelOnQueue": (pb.QueueCancelRequest, "cancelling jobs on queue"),
    "PreemptOnQueue": (pb.QueuePreemptRequest, "preempting jobs on queue"),
}


@pytest.mark.parametrize("name", ON_QUEUE)
async def test_an_order_for_a_queue_needs_one_that_exists(api: ServedApi, name: str) -> None:
    request, doing = ON_QUEUE[name]
    call = getattr(api.queues, name)
    with refused(StatusCode.NOT_FOUND, 'error: could not find queue "q"'):
        await call(request(name="q"))
    with refused(StatusCode.INVALID_ARGUMENT, f"error {doing}: name: '' must not be empty"):
        await call(request())


async def submit(api: ServedApi, count: int, **spec: Any) -> list[JobId]:
    item = pb.JobSubmitRequestItem(pod_spec=pod(**spec), namespace="default")
    request = pb.JobSubmitRequest(queue="q", job_set_id="s", job_request_items=[item] * count)
    answer = await api.submit.SubmitJobs(request)
    return [JobId(each.job_id) for each in answer.job_response_items]


async def test_the_jobs_of_a_queue_are_cancelled_by_priority_class_and_state(api: ServedApi) -> None:
    await api.queues.CreateQueue(queue())
    [plain] = await submit(api, 1)
    [high] = await submit(api, 1, priorityClassName="high")
    await api.queues.CancelOnQueue(pb.QueueCancelRequest(name="q", jobStates=[pb.LEASED, pb.PENDING, pb.RUNNING]))
    await api.queues.CancelOnQueue(pb.QueueCancelRequest(name="q", pools=["default"]))
    await api.queues.CancelOnQueue(pb.QueueCancelRequest(name="q", priorityClasses=["high"], jobStates=[pb.QUEUED]))
    found = await api.services.jobs.find([plain, high])
    assert [found[job_id].state for job_id in (plain, high)] == [JobState.QUEUED, JobState.CANCELLED]


@pytest.mark.parametrize(("state", "shown"), [(pb.SUCCEEDED, "'SUCCEEDED'"), (99, "99")])
async def test_jobs_that_are_over_can_not_be_cancelled_by_state(api: ServedApi, state: Any, shown: str) -> None:
    await api.queues.CreateQueue(queue())
    text = f"error cancelling jobs on queue q: jobStates: {shown} must be QUEUED, LEASED, PENDING or RUNNING"
    with refused(StatusCode.INVALID_ARGUMENT, text):
        await api.queues.CancelOnQueue(pb.QueueCancelRequest(name="q", jobStates=[state]))

"""`armada_client`, unmodified, against real processes: its documented workflow, and all else that it can do."""

import json
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from armada_client.armada import submit_pb2, submit_pb2_grpc
from armada_client.asyncio_client import ArmadaAsyncIOClient
from armada_client.client import ArmadaClient
from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from armada_client.k8s.io.apimachinery.pkg.api.resource.generated_pb2 import Quantity
from armada_client.permissions import Permissions, Subject
from armada_client.typings import EventType, JobState

from testkit.host.system import RunningSystem, running_system

pytestmark = pytest.mark.timeout(90)

SCRIPT = "fakekube.refloat.dev/script"
QUICK, SLOW = {"outcome": "succeed", "afterMs": 800}, {"outcome": "succeed", "afterMs": 600_000}
OOM = {"cases": [{"when": {"memoryBelow": "100Mi"}, "outcome": "oom"}, {"outcome": "succeed"}]}
TO_THE_END = ["submitted", "queued", "leased", "pending", "running", "succeeded"]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    with running_system(tmp_path_factory.mktemp("system")) as system:
        yield system


@pytest.fixture
def channel(system: RunningSystem) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(system.address) as channel:
        yield channel


@pytest.fixture
def client(channel: grpc.Channel) -> ArmadaClient:
    return ArmadaClient(channel, event_timeout=timedelta(seconds=20))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def async_client(system: RunningSystem) -> AsyncIterator[ArmadaAsyncIOClient]:
    async with grpc.aio.insecure_channel(system.address) as channel:
        yield ArmadaAsyncIOClient(channel, event_timeout=timedelta(seconds=20))


def pod_spec(memory: str = "64Mi") -> core_v1.PodSpec:
    amounts = {"cpu": Quantity(string="120m"), "memory": Quantity(string=memory)}
    return core_v1.PodSpec(
        containers=[
            core_v1.Container(
                name="container1",
                image="index.docker.io/library/ubuntu:latest",
                args=["sleep", "10s"],
                securityContext=core_v1.SecurityContext(runAsUser=1000),
                resources=core_v1.ResourceRequirements(requests=amounts, limits=amounts),
            )
        ]
    )


def job(client: Any, script: Any, **fields: Any) -> Any:
    """What the client's own helper makes of a pod that plays a script."""
    return client.create_job_request_item(
        priority=1, pod_spec=pod_spec(), annotations={SCRIPT: json.dumps(script)}, **fields
    )


def submitted(client: ArmadaClient, queue: str, script: Any, job_set: str = "set") -> str:
    answer = client.submit_jobs(queue=queue, job_set_id=job_set, job_request_items=[job(client, script)])
    return str(answer.job_response_items[0].job_id)


def make_queue(client: ArmadaClient, name: str) -> None:
    client.create_queue(client.create_queue_request(name=name, priority_factor=1))


def watched(client: ArmadaClient, queue: str, last: EventType, *or_last: EventType, job_set: str = "set") -> list[Any]:
    """The events of a job set up to the first of these kinds, as the client unmarshals them."""
    stream = client.get_job_events_stream(queue=queue, job_set_id=job_set)
    events = []
    for message in stream:
        events.append(client.unmarshal_event_response(message))
        if events[-1].type in (last, *or_last):
            break
    client.unwatch_events(stream)
    return events


def names(events: list[Any]) -> list[str]:
    return [event.type.value for event in events]


def test_the_documented_workflow(client: ArmadaClient) -> None:
    make_queue(client, "simple")
    job_id = submitted(client, "simple", QUICK)
    events = watched(client, "simple", EventType.succeeded)
    assert names(events) == TO_THE_END
    assert {event.message.job_id for event in events} == {job_id}
    assert f"Job ID: {job_id}" in repr(events[0])


def test_a_job_is_cancelled_while_it_runs(client: ArmadaClient) -> None:
    make_queue(client, "cancelling")
    job_id = submitted(client, "cancelling", SLOW)
    watched(client, "cancelling", EventType.running)
    answer = client.cancel_jobs(queue="cancelling", job_set_id="set", job_id=job_id)
    assert list(answer.cancelled_ids) == [job_id]
    assert names(watched(client, "cancelling", EventType.cancelled))[-2:] == ["cancelling", "cancelled"]
    assert dict(client.get_job_status([job_id]).job_states) == {job_id: submit_pb2.CANCELLED}


def test_a_job_set_is_cancelled_by_state(client: ArmadaClient) -> None:
    make_queue(client, "filtering")
    running = submitted(client, "filtering", SLOW)
    watched(client, "filtering", EventType.running)
    client.cancel_jobset("filtering", "set", [JobState.QUEUED])
    assert client.get_job_status([running]).job_states[running] == submit_pb2.RUNNING
    client.cancel_jobset("filtering", "set", [JobState.PENDING, JobState.RUNNING])
    assert client.get_job_status([running]).job_states[running] == submit_pb2.CANCELLED


def test_a_job_is_preempted(client: ArmadaClient) -> None:
    make_queue(client, "preempting")
    job_id = submitted(client, "preempting", SLOW)
    watched(client, "preempting", EventType.running)
    client.preempt_jobs("preempting", "set", job_id)
    events = watched(client, "preempting", EventType.failed)
    assert names(events)[-3:] == ["preempting", "preempted", "failed"]
    assert events[-1].message.reason == "Preempted by anonymous"
    assert not events[-1].message.retryable


def test_jobs_are_reprioritized(client: ArmadaClient) -> None:
    make_queue(client, "priorities")
    job_id = submitted(client, "priorities", SLOW)
    answer = client.reprioritize_jobs(7.0, [job_id], "set", "priorities")
    assert dict(answer.reprioritization_results) == {job_id: ""}
    events = watched(client, "priorities", EventType.reprioritized)
    assert events[-1].message.new_priority == 7.0
    client.reprioritize_jobs(8.0, None, "set", "priorities")
    client.cancel_jobset("priorities", "set", [])


def test_a_failure_is_retried_with_more_memory(client: ArmadaClient, channel: grpc.Channel) -> None:
    policy = submit_pb2.RetryPolicy(
        name="grow",
        retry_limit=2,
        default_action=submit_pb2.RETRY_ACTION_FAIL,
        rules=[
            submit_pb2.RetryRule(
                action=submit_pb2.RETRY_ACTION_RETRY,
                on_category="oom",
                mutate=submit_pb2.RetryMutation(
                    resources=submit_pb2.RetryResourceMutation(memory=submit_pb2.RetryResourceBump(factor=2))
                ),
            )
        ],
    )
    submit_pb2_grpc.RetryPolicyServiceStub(channel).CreateRetryPolicy(policy)
    queue = client.create_queue_request(name="growing", priority_factor=1)
    queue.retry_policies.append("grow")
    client.create_queue(queue)
    # A policy decides once the scheduler's cache has read it; a job that fails before is failed for good.
    attempts = [f"set-{number}" for number in range(20)]
    for job_set in attempts:
        job_id = submitted(client, "growing", OOM, job_set)
        events = watched(client, "growing", EventType.succeeded, EventType.failed, job_set=job_set)
        if events[-1].message.retryable:
            break
    else:
        pytest.fail("no failure was retried")
    events = watched(client, "growing", EventType.succeeded, job_set=job_set)
    told = names(events)
    assert told[:3] == ["submitted", "queued", "leased"]
    [failed] = [event.message for event in events if event.type is EventType.failed]
    assert (failed.failure_category, failed.retryable) == ("oom", True)
    assert told[told.index("failed") + 1] == "leased"
    details = client.get_job_details([job_id]).job_details[job_id]
    runs = client.get_job_run_details([run.run_id for run in details.job_runs]).job_run_details
    assert len(details.job_runs) == len(runs) == 2
    assert dict(client.get_job_errors([job_id]).job_errors) == {}


def test_queues_are_created_updated_listed_and_deleted(client: ArmadaClient) -> None:
    permission = Permissions(subjects=[Subject(kind="Group", name="ml")], verbs=["submit", "cancel"])
    queue = client.create_queue_request(name="a-queue", priority_factor=2, permissions=[permission])
    assert not client.create_queues([queue]).failed_queues
    assert client.get_queue("a-queue").permissions == [permission.to_grpc()]
    queue.priority_factor = 3
    client.update_queue(queue)
    assert not client.update_queues([queue]).failed_queues
    assert {each.name: each.priority_factor for each in client.get_queues()}["a-queue"] == 3
    client.delete_queue("a-queue")
    with pytest.raises(grpc.RpcError) as refused:
        client.get_queue("a-queue")
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_both_services_are_healthy(client: ArmadaClient) -> None:
    assert client.submit_health().status == client.event_health().status == 1


def test_a_watch_goes_on_after_its_own_timeout(channel: grpc.Channel) -> None:
    client = ArmadaClient(channel, event_timeout=timedelta(seconds=1))
    make_queue(client, "patient")
    job_id = submitted(client, "patient", {"outcome": "succeed", "afterMs": 2500})
    assert names(watched(client, "patient", EventType.succeeded)) == TO_THE_END
    assert client.get_job_status([job_id]).job_states[job_id] == submit_pb2.SUCCEEDED


def test_a_job_is_found_by_its_external_uri(client: ArmadaClient) -> None:
    make_queue(client, "linked")
    item = job(client, QUICK)
    item.external_job_uri = "airflow://run/1"
    answer = client.submit_jobs(queue="linked", job_set_id="set", job_request_items=[item])
    job_id = answer.job_response_items[0].job_id
    watched(client, "linked", EventType.succeeded)
    found = client.get_job_status_by_external_job_uri("linked", "set", "airflow://run/1")
    assert dict(found.job_states) == {job_id: submit_pb2.SUCCEEDED}


@pytest.mark.anyio
async def test_the_documented_workflow_of_the_asyncio_client(async_client: ArmadaAsyncIOClient) -> None:
    client = async_client
    await client.create_queue(client.create_queue_request(name="async", priority_factor=1))
    assert (await client.get_queue("async")).name == "async"
    items = [job(client, QUICK)]
    answer = await client.submit_jobs(queue="async", job_set_id="set", job_request_items=items)
    stream = await client.get_job_events_stream(queue="async", job_set_id="set")
    events = []
    async for message in stream:
        events.append(client.unmarshal_event_response(message))
        if events[-1].type is EventType.succeeded:
            break
    client.unwatch_events(stream)
    assert names(events) == TO_THE_END
    slow = await client.submit_jobs(queue="async", job_set_id="slow", job_request_items=[job(client, SLOW)])
    slow_id = slow.job_response_items[0].job_id
    cancelled = await client.cancel_jobs(queue="async", job_set_id="slow", job_id=slow_id)
    assert list(cancelled.cancelled_ids) == [slow_id]
    job_id = answer.job_response_items[0].job_id
    states = (await client.get_job_status([job_id, slow_id])).job_states
    assert dict(states) == {job_id: submit_pb2.SUCCEEDED, slow_id: submit_pb2.CANCELLED}


def test_the_log_of_the_host_tells_of_no_fault(system: RunningSystem) -> None:
    log = Path(system.layout.folder / "host.log").read_text()
    assert [line for line in log.splitlines() if '"error"' in line] == []

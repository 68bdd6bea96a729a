"""The server itself: health, reflection, limits, one address for one host, and an end that nobody waits for."""

import time
from pathlib import Path

import anyio
import grpc
import pytest
from armada_client.armada import event_pb2, event_pb2_grpc, submit_pb2_grpc
from armada_client.armada import submit_pb2 as pb
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.empty_pb2 import Empty
from grpc import StatusCode
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from refloat_host.api import answers, server
from refloat_host.api.answers import Desk
from refloat_host.api.server import AddressTakenError, serving
from testkit.host.api import ServedApi, refused, served_api, until
from testkit.host.api_jobs import item, submitted

pytestmark = pytest.mark.anyio

SERVICES = ["api.Event", "api.Jobs", "api.QueueService", "api.RetryPolicyService", "api.Submit"]


@pytest.mark.parametrize("service", ["", *SERVICES])
async def test_every_service_is_healthy(api: ServedApi, service: str) -> None:
    stub = health_pb2_grpc.HealthStub(api.channel)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
    assert answer == health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)


async def test_the_health_of_an_unknown_service_is_not_found(api: ServedApi) -> None:
    stub = health_pb2_grpc.HealthStub(api.channel)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.Check(health_pb2.HealthCheckRequest(service="none"))
    assert caught.value.code() is StatusCode.NOT_FOUND


async def test_the_server_tells_what_it_serves(api: ServedApi) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(api.channel)
    asked = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="api.RetryPolicyService"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="k8s.io.api.core.v1.PodSpec"),
    ]
    listed, policies, pods = [answer async for answer in stub.ServerReflectionInfo(iter(asked))]
    names = [service.name for service in listed.list_services_response.service]
    assert sorted(names) == [*SERVICES, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"]
    file = FileDescriptorProto.FromString(policies.file_descriptor_response.file_descriptor_proto[0])
    assert "RetryPolicyService" in [service.name for service in file.service]
    assert pods.file_descriptor_response.file_descriptor_proto


async def test_a_message_beyond_the_limit_is_refused(api: ServedApi) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await api.policies.CreateRetryPolicy(pb.RetryPolicy(name="x" * (9 << 20)))
    assert caught.value.code() is StatusCode.RESOURCE_EXHAUSTED


async def test_compressed_requests_are_read(api: ServedApi) -> None:
    async with grpc.aio.insecure_channel(api.address, compression=grpc.Compression.Gzip) as channel:
        stub = submit_pb2_grpc.QueueServiceStub(channel)
        await stub.CreateQueue(pb.Queue(name="q", priority_factor=1, labels={"note": "x" * 10_000}))
        assert (await stub.GetQueue(pb.QueueGetRequest(name="q"))).labels == {"note": "x" * 10_000}


async def test_more_open_calls_than_allowed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CALLS_AT_ONCE", 1)
    async with served_api(tmp_path) as api:
        await api.queues.CreateQueue(pb.Queue(name="q", priority_factor=1))
        watch = api.events.GetJobSetEvents(event_pb2.JobSetRequest(queue="q", id="s", watch=True))
        await until(lambda: bool(api.services.events._news._readers))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await api.queues.GetQueue(pb.QueueGetRequest(name="q"))
        assert caught.value.code() is StatusCode.RESOURCE_EXHAUSTED
        watch.cancel()


async def test_an_unknown_method_is_unimplemented(api: ServedApi) -> None:
    call = api.channel.unary_unary("/api.Submit/Fly", Empty.SerializeToString, Empty.FromString)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(Empty())
    assert caught.value.code() is StatusCode.UNIMPLEMENTED


async def test_two_hosts_do_not_share_an_address(api: ServedApi) -> None:
    host, _, port = api.address.rpartition(":")
    with pytest.raises(AddressTakenError, match=f"grpc: '{api.address}' can't be listened on"):
        async with serving(api.services, host, int(port), Desk(api.heard.log, api.heard.count)):
            pass


async def test_a_call_is_bounded_though_the_client_would_wait(api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_CALL_S", 0.05)

    async def never() -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(api.services.policies, "list", never)
    text = "error getting retry policies: not done within 0.05s; it may still be carried out"
    with refused(StatusCode.DEADLINE_EXCEEDED, text):
        await api.policies.GetRetryPolicies(pb.RetryPolicyListRequest())


async def test_the_clients_own_deadline_holds(api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = anyio.Event()

    async def never() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    monkeypatch.setattr(api.services.policies, "list", never)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await api.policies.GetRetryPolicies(pb.RetryPolicyListRequest(), timeout=0.2)
    assert caught.value.code() is StatusCode.DEADLINE_EXCEEDED
    with anyio.fail_after(10):
        await ended.wait()


async def test_a_store_that_can_not_commit_is_unavailable(api: ServedApi) -> None:
    api.store._closed = True
    text = "error creating queue: the store cannot commit now: the host is stopping"
    with refused(StatusCode.UNAVAILABLE, text):
        await api.queues.CreateQueue(pb.Queue(name="q", priority_factor=1))
    text = "error creating retry policy p: the store cannot commit now: the host is stopping"
    with refused(StatusCode.UNAVAILABLE, text):
        await api.policies.CreateRetryPolicy(pb.RetryPolicy(name="p", default_action=pb.RETRY_ACTION_FAIL))


async def test_every_call_is_counted_by_how_it_ended(api: ServedApi) -> None:
    await api.policies.GetRetryPolicies(pb.RetryPolicyListRequest())
    with refused(StatusCode.NOT_FOUND, 'error: could not find queue "q"'):
        await api.queues.GetQueue(pb.QueueGetRequest(name="q"))
    assert [message async for message in api.queues.GetQueues(pb.StreamingQueueGetRequest())]
    assert api.heard.calls == [
        ("api.RetryPolicyService/GetRetryPolicies", "OK"),
        ("api.QueueService/GetQueue", "NOT_FOUND"),
        ("api.QueueService/GetQueues", "OK"),
    ]
    assert api.heard.lines == []


async def test_a_defect_ends_its_call_alone_and_is_seen_in_the_log(
    api: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken() -> None:
        raise LookupError("secret")

    monkeypatch.setattr(api.services.policies, "list", broken)
    text = "error getting retry policies: a defect of the host's; its log tells more"
    with refused(StatusCode.INTERNAL, text):
        await api.policies.GetRetryPolicies(pb.RetryPolicyListRequest())
    [(level, message, values)] = api.heard.lines
    assert (level, message) == ("error", "getting retry policies failed by a defect of the host's")
    assert (values["method"], values["error"]) == ("api.RetryPolicyService/GetRetryPolicies", "LookupError('secret')")
    assert "in broken" in str(values["trace"])
    assert api.heard.calls == [("api.RetryPolicyService/GetRetryPolicies", "INTERNAL")]
    assert await api.submit.Health(Empty())


async def test_a_client_that_leaves_in_the_middle_is_no_defect(api: ServedApi) -> None:
    await api.queues.CreateQueue(pb.Queue(name="q", priority_factor=1))
    for _ in range(20):
        call = api.events.GetJobSetEvents(event_pb2.JobSetRequest(queue="q", id="s", watch=True))
        await submitted(api, *[item()] * 20)
        await call.read()
        call.cancel()
    await until(lambda: not api.services.events._news._readers)
    assert api.heard.lines == []


async def test_a_watch_is_ended_at_once_when_the_server_stops(tmp_path: Path) -> None:
    watching = anyio.Event()
    ended: list[tuple[StatusCode, str | None]] = []

    async def watch(address: str) -> None:
        async with grpc.aio.insecure_channel(address) as channel:
            call = event_pb2_grpc.EventStub(channel).GetJobSetEvents(
                event_pb2.JobSetRequest(queue="q", id="s", watch=True)
            )
            watching.set()
            try:
                await call.read()
            except grpc.aio.AioRpcError as error:
                ended.append((error.code(), error.details()))

    async with anyio.create_task_group() as tasks:  # noqa: SIM117  the watch outlives the server
        async with served_api(tmp_path) as api:
            await submit_pb2_grpc.QueueServiceStub(api.channel).CreateQueue(pb.Queue(name="q", priority_factor=1))
            tasks.start_soon(watch, api.address)
            await watching.wait()
            await until(lambda: bool(api.services.events._news._readers))
            began_s = time.monotonic()
    assert ended == [(StatusCode.UNAVAILABLE, "error reading events: the host is stopping")]
    assert time.monotonic() - began_s < 3

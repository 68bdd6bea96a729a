"""Runs the gRPC server of the management API.

Limits are Armada's where it has one. The address is loopback (`core.listening`) and is never shared: a second host on
the same port is refused, where gRPC by itself would let the two take turns.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import grpc
from armada_client.armada import event_pb2, job_pb2, submit_pb2
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from refloat_common.core import admin
from refloat_host.api.admin import admin_handler
from refloat_host.api.answers import Desk
from refloat_host.api.calls import Call, Streams, handler_of
from refloat_host.api.events import EventCalls
from refloat_host.api.jobs import JobCalls
from refloat_host.api.policies import PolicyCalls
from refloat_host.api.queues import QueueCalls
from refloat_host.api.submit import SubmitCalls
from refloat_host.core.listening import endpoint
from refloat_host.services.admin import AdminService
from refloat_host.services.events import EventService
from refloat_host.services.jobs import JobService
from refloat_host.services.lookup import LookupService
from refloat_host.services.policies import PolicyService
from refloat_host.services.queues import QueueService

MAX_MESSAGE_BYTES = 8 << 20
MAX_CALLS_AT_ONCE = 1000
"""Beyond this a call is refused as RESOURCE_EXHAUSTED; every watch counts."""

STOP_WITHIN_S = 5.0
"""How long calls under way may take when the server stops; streams are ended at once."""

OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
)
"""A peer that is gone is noticed by its silence, so that its watch does not stay open for good."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the API is a door to."""

    queues: QueueService
    policies: PolicyService
    jobs: JobService
    events: EventService
    lookup: LookupService
    admin: AdminService


class AddressTakenError(Exception):
    """The address can't be listened on."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"grpc: {address!r} can't be listened on: {why}")


@asynccontextmanager
async def serving(services: Services, address: str, port: int, desk: Desk) -> AsyncIterator[str]:
    """Serve while the context lasts; yields address and port, which port 0 has chosen.

    Raises:
        AddressTakenError: another program listens there.
    """
    streams = Streams()
    server = grpc.aio.server(options=OPTIONS, maximum_concurrent_rpcs=MAX_CALLS_AT_ONCE)
    tables = _tables(services)
    server.add_generic_rpc_handlers(tuple(handler_of(service, tables[service], streams, desk) for service in tables))
    server.add_generic_rpc_handlers((admin_handler(services.admin, desk),))
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    names = [service.full_name for service in tables]
    standard = [health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME]
    reflection.enable_server_reflection([*names, *standard], server)
    bound = _listen(server, endpoint(address, port))
    for name in ("", *names, admin.SERVICE):
        await checks.set(name, health_pb2.HealthCheckResponse.SERVING)
    await server.start()
    try:
        yield bound
    finally:
        with anyio.CancelScope(shield=True):
            await checks.enter_graceful_shutdown()
            streams.close()
            await server.stop(STOP_WITHIN_S)


def _tables(services: Services) -> Mapping[ServiceDescriptor, Mapping[str, Call]]:
    """Service → its calls."""
    submit = submit_pb2.DESCRIPTOR.services_by_name
    return {
        submit["RetryPolicyService"]: PolicyCalls(services.policies).table(),
        submit["QueueService"]: QueueCalls(services.queues, services.jobs).table(),
        submit["Submit"]: SubmitCalls(services.jobs, services.queues).table(),
        event_pb2.DESCRIPTOR.services_by_name["Event"]: EventCalls(services.events, services.queues).table(),
        job_pb2.DESCRIPTOR.services_by_name["Jobs"]: JobCalls(services.lookup).table(),
    }


def _listen(server: grpc.aio.Server, address: str) -> str:
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise AddressTakenError(address, str(error)) from None
    return f"{address.rpartition(':')[0]}:{port}"

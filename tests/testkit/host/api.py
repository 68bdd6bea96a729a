"""The management API as a client meets it: a real gRPC server on a host's services and a real SQLite file."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import grpc
import pytest
from armada_client.armada import event_pb2_grpc, job_pb2_grpc, submit_pb2_grpc

from refloat_common.adapters.clock import SystemChance, SystemClock
from refloat_host.adapters.store.writer import ThreadedStore
from refloat_host.api.answers import Desk
from refloat_host.api.server import Services, serving
from refloat_host.services.admin import AdminService
from refloat_host.services.events import EventService
from refloat_host.services.jobs import JobService
from refloat_host.services.leasing.fits import FitCache
from refloat_host.services.lookup import LookupService
from refloat_host.services.news import News
from refloat_host.services.policies import PolicyService
from refloat_host.services.queues import QueueService
from testkit.host.bench import FakePlugin
from testkit.host.stores import sqlite_url, url_database


@dataclass(slots=True)
class Heard:
    """What the server has logged and counted."""

    lines: list[tuple[str, str, Mapping[str, object]]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)

    def log(self, level: str, message: str, values: Mapping[str, object]) -> None:
        """Note a line."""
        self.lines.append((level, message, values))

    def count(self, method: str, status: str) -> None:
        """Note the end of a call."""
        self.calls.append((method, status))


class ServedApi:
    """A server that runs: where, on what, and stubs for it. `plugin` notes which runs were killed."""

    def __init__(
        self, address: str, services: Services, store: ThreadedStore, plugin: FakePlugin, heard: Heard
    ) -> None:
        self.address = address
        self.heard = heard
        self.services = services
        self.store = store
        self.plugin = plugin
        self.channel = grpc.aio.insecure_channel(address)
        self.policies = submit_pb2_grpc.RetryPolicyServiceStub(self.channel)
        self.queues = submit_pb2_grpc.QueueServiceStub(self.channel)
        self.submit = submit_pb2_grpc.SubmitStub(self.channel)
        self.events = event_pb2_grpc.EventStub(self.channel)
        self.jobs = job_pb2_grpc.JobsStub(self.channel)


@asynccontextmanager
async def served_api(folder: Path) -> AsyncIterator[ServedApi]:
    """Serve an empty store in a folder."""
    news, plugin, clock = News(), FakePlugin(), SystemClock()
    with url_database(sqlite_url(folder)) as database:
        store = ThreadedStore(database, news.publish)
        queues = QueueService(store, clock)
        jobs = JobService(store, clock, SystemChance(), plugin.kill, FitCache())
        admin = AdminService(store, jobs, queues, plugin)
        services = Services(
            queues, PolicyService(store, clock), jobs, EventService(store, news), LookupService(store), admin
        )
        heard = Heard()
        desk = Desk(heard.log, heard.count)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.run)
            async with serving(services, "127.0.0.1", 0, desk) as address:
                api = ServedApi(address, services, store, plugin, heard)
                try:
                    yield api
                finally:
                    await api.channel.close()
            tasks.cancel_scope.cancel()


async def until(condition: Callable[[], object]) -> None:
    """Wait for what another task does in its own time; not longer than ten seconds."""
    with anyio.fail_after(10):
        while not condition():  # noqa: ASYNC110  what is waited for says nothing
            await anyio.sleep(0.01)


@contextmanager
def refused(code: grpc.StatusCode, text: str) -> Iterator[None]:
    """What stands inside must end with this status and exactly this text."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        yield
    assert (caught.value.code(), caught.value.details()) == (code, text)

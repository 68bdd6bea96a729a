"""The host put together, with a plugin that a test plays."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import pytest

from refloat_common.core.ids import ExecutorId, JobId
from refloat_common.core.messages import NodeFacts
from refloat_common.core.settings import parse_settings
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.errors import StoreBrokenError
from refloat_host.adapters.store.writer import InlineStore, ThreadedStore
from refloat_host.core.orders import Order
from refloat_host.core.queues import Queue
from refloat_host.core.selection import Selection
from refloat_host.core.submission import Submission
from refloat_host.daemon.host import HostDaemon, PluginEndedError, Ports, StoreFactory
from refloat_host.settings import HostSettings
from refloat_scheduler.core.effects import Effect, NodesSaved
from refloat_scheduler.core.leases.states import OperatorAction
from refloat_scheduler.core.model import JobState
from refloat_scheduler.service.contract import Host, RoomChanged, StoreUnavailable
from testkit.host.bench import CountingChance, FakePlugin, StillClock, executor_view
from testkit.host.stores import url_database
from testkit.host.values import pod_spec

pytestmark = pytest.mark.anyio

EAST = ExecutorId("east")


@dataclass(slots=True)
class PlayedPlugin(FakePlugin):
    """A plugin with one executor, which speaks as soon as it runs."""

    host: Host | None = None
    ends_with: Exception | None = None
    end: anyio.Event = field(default_factory=anyio.Event)
    running: anyio.Event = field(default_factory=anyio.Event)
    cancelled: bool = False

    async def run(self) -> None:
        """Make the executor known, and serve."""
        assert self.host is not None
        nodes: list[Effect] = [
            NodesSaved(executor=EAST, upserted=(NodeFacts(name="n1", allocatable={"cpu": "8", "memory": "64Gi"}),))
        ]
        await self.host.transact(lambda tx: tx.apply(nodes))
        self.views = [executor_view(EAST, 5)]
        self.host.notify(RoomChanged(EAST))
        self.running.set()
        try:
            await self.end.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        if self.ends_with is not None:
            raise self.ends_with

    async def operate(self, executor: ExecutorId, action: OperatorAction) -> None:
        """Nobody operates here."""
        raise NotImplementedError


@dataclass(slots=True)
class Scene:
    """A host and the plugin that it loads."""

    daemon: HostDaemon
    plugin: PlayedPlugin
    leased: list[tuple[ExecutorId, int]]


def stage(database: Database, store: StoreFactory = InlineStore) -> Scene:
    plugin, leased = PlayedPlugin(), list[tuple[ExecutorId, int]]()

    def load(host: Host) -> PlayedPlugin:
        plugin.host = host
        return plugin

    ports = Ports(
        database=database,
        store=store,
        plugin=load,
        clock=StillClock(),
        chance=CountingChance(),
        log=lambda _level, _message, _values: None,
        leased=lambda executor, count: leased.append((executor, count)),
    )
    settings = parse_settings(HostSettings, {"link": {"insecure": True}})
    return Scene(HostDaemon(settings, ports), plugin, leased)


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(10):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def test_a_submitted_job_is_leased_cancelled_and_killed(database: Database) -> None:
    await lease_and_cancel(stage(database))


async def test_the_same_with_the_store_on_a_thread(store_url: str) -> None:
    with url_database(store_url) as database:
        await lease_and_cancel(stage(database, ThreadedStore))


async def lease_and_cancel(scene: Scene) -> None:
    daemon = scene.daemon
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.run)
        await scene.plugin.running.wait()
        await daemon.queues.create(Queue(name="q"))
        await daemon.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())])
        await until(lambda: scene.plugin.offered)
        assert scene.leased == [(EAST, 1)]
        await daemon.jobs.cancel(Selection([JobId("job-001")]), Order("anna", "enough"))
        run = scene.plugin.offered[0][1].run
        assert scene.plugin.killed == [(EAST, (run,), "enough")]
        assert (await daemon.jobs.get(JobId("job-001"))).state is JobState.CANCELLED
        daemon.stop()
    assert scene.plugin.cancelled
    assert daemon.ill() == ""


async def test_jobs_that_waited_at_the_start_are_leased_without_news(database: Database) -> None:
    first = stage(database)
    await first.daemon.queues.create(Queue(name="q"))
    await first.daemon.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())])
    second = stage(database)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(second.daemon.run)
        await until(lambda: second.plugin.offered)
        second.daemon.stop()


@pytest.mark.parametrize(("error", "kind"), [(None, PluginEndedError), (RuntimeError("boom"), RuntimeError)])
async def test_a_host_does_not_outlive_its_plugin(
    database: Database, error: Exception | None, kind: type[Exception]
) -> None:
    scene = stage(database)
    scene.plugin.ends_with = error
    scene.plugin.end.set()
    with pytest.raises(ExceptionGroup) as ended:
        await scene.daemon.run()
    assert ended.value.subgroup(kind) is not None


async def test_a_broken_store_ends_the_host(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = stage(database, ThreadedStore)

    def broken(_database: Database, _works: object) -> None:
        raise StoreBrokenError("fsync failed")

    monkeypatch.setattr(Database, "execute", broken)
    with pytest.raises(ExceptionGroup) as ended:
        await scene.daemon.run()
    assert ended.value.subgroup(StoreBrokenError) is not None


async def test_a_store_in_trouble_makes_the_host_ill_until_a_commit_succeeds(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = stage(database)
    real = Database._execute

    def full(_database: Database, _works: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(Database, "_execute", full)
    with pytest.raises(StoreUnavailable):
        await scene.daemon.queues.create(Queue(name="q"))
    assert "the disk is full" in scene.daemon.ill()
    monkeypatch.setattr(Database, "_execute", real)
    await scene.daemon.queues.create(Queue(name="q"))
    assert scene.daemon.ill() == ""

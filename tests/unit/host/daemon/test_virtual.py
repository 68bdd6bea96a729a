"""The host's own code in virtual time: killed anywhere, it goes on with exactly what it had committed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import pytest

from refloat_common.core.ids import ExecutorId, JobId
from refloat_common.core.messages import Lease, NodeFacts
from refloat_common.core.settings import parse_settings
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.opening import open_memory
from refloat_host.adapters.store.queries.jobs import list_jobs
from refloat_host.adapters.store.writer import InlineStore
from refloat_host.core.queues import Queue
from refloat_host.core.submission import Submission
from refloat_host.daemon.host import HostDaemon, Ports
from refloat_host.settings import HostSettings
from refloat_scheduler.core.effects import NodesSaved
from refloat_scheduler.core.model import JobState
from refloat_scheduler.service.contract import Host
from testkit.host.bench import FakePlugin, executor_view
from testkit.host.stores import NODE_ID_LABEL
from testkit.host.values import pod_spec
from testkit.virtual.clock import SimChance, SimClock
from testkit.virtual.run import World, run_virtual
from testkit.world.disk import SimDisk

EAST = ExecutorId("east")
JOBS = 30


@dataclass(slots=True)
class SimPlugin(FakePlugin):
    """A plugin with one executor that takes everything; what it was offered outlives the host, as an executor does."""

    host: Host | None = None
    seen: dict[str, str] = field(default_factory=dict)

    def offer(self, executor: ExecutorId, leases: Sequence[Lease]) -> None:
        """Note which run stands for which job."""
        self.offered += [(executor, lease) for lease in leases]
        self.seen |= {lease.run: lease.job for lease in leases}

    async def run(self) -> None:
        """Make the executor known, and serve."""
        assert self.host is not None
        facts = NodeFacts(name="n1", allocatable={"cpu": "8", "memory": "64Gi"})
        await self.host.transact(lambda tx: tx.apply([NodesSaved(executor=EAST, upserted=(facts,))]))
        self.views = [executor_view(EAST, 1000)]
        await anyio.sleep_forever()

    async def operate(self, executor: object, action: object) -> None:
        """Nobody operates here."""


@dataclass(slots=True)
class Story:
    """What is left at the end of a run."""

    submitted: int
    leased: dict[str, str]
    seen: dict[str, str]
    epochs: int
    trace: str


@dataclass(slots=True)
class Play:
    """A client that submits jobs one by one, on a host that may die; it sends again what it has no answer to."""

    world: World
    disk: SimDisk = field(default_factory=SimDisk)
    seen: dict[str, str] = field(default_factory=dict)
    answered: set[int] = field(default_factory=set)
    database: Database | None = None

    def open(self) -> HostDaemon:
        """Put the host together on what the disk holds."""
        clock = SimClock(self.world.loop)
        chance = SimChance(self.world.streams, "host", clock)
        self.database = Database.take_over(
            open_memory(self.disk.connect("store")),
            generation=chance.uuid7(),
            now_ms=clock.utc_ms(),
            node_id_label=NODE_ID_LABEL,
            fresh=True,
        )
        plugin = SimPlugin(seen=self.seen)

        def load(host: Host) -> SimPlugin:
            plugin.host = host
            return plugin

        ports = Ports(
            database=self.database,
            store=InlineStore,
            plugin=load,
            clock=clock,
            chance=chance,
            log=lambda _level, _message, _values: None,
            leased=lambda executor, count: self.world.trace.add("leased", executor=executor, count=count),
        )
        return HostDaemon(parse_settings(HostSettings, {"link": {"insecure": True}}), ports)

    async def live(self) -> None:
        """The life of one process."""
        daemon = self.open()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(daemon.run)
            await daemon.queues.create(Queue(name="q"))
            for number in sorted(set(range(JOBS)) - self.answered):
                submission = Submission(pod_spec=pod_spec(), client_id=f"mine-{number}")
                [job] = await daemon.jobs.submit("q", "s", [submission])
                self.world.trace.add("submitted", job=job.job_id, known=job.known)
                self.answered.add(number)
                await anyio.sleep(0.05)


async def perform(world: World) -> Story:
    """Kill the host again and again until every job has its answer, then let it be."""
    play, kills = Play(world), world.streams.of("kills")
    while len(play.answered) < JOBS:
        process = world.loop.start_process("host", play.live)
        await anyio.sleep(kills.uniform(0, 0.6))
        world.loop.kill(process)
    world.loop.start_process("host", play.live)
    await anyio.sleep(60)
    assert play.database is not None
    jobs = play.database.read(lambda tx: list_jobs(tx.connection, "q", "s", JobId(""), 2 * JOBS))
    assert {job.state for job in jobs} == {JobState.LEASED}
    leased = {str(run.run_id): str(run.job_id) for job in jobs for run in job.runs}
    story = Story(len(jobs), leased, dict(play.seen), play.database.epoch, world.trace.digest())
    play.disk.close()
    return story


@pytest.mark.parametrize("seed", range(12))
def test_every_job_is_there_once_and_every_offer_was_committed(seed: int) -> None:
    story = run_virtual(perform, seed=seed)
    assert story.submitted == len(story.leased) == JOBS
    assert story.seen.items() <= story.leased.items()
    assert story.epochs > 3


def test_the_same_seed_tells_the_same_story() -> None:
    assert run_virtual(perform, seed=3) == run_virtual(perform, seed=3)

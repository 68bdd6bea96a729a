"""The host of the product with its plugin as a simulated process: their own code on simulated ports."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from refloat_common.core.link.transport import ServerTransport
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.opening import open_memory
from refloat_host.adapters.store.writer import InlineStore
from refloat_host.daemon.host import HostDaemon, Ports
from refloat_host.settings import HostSettings
from refloat_scheduler.plugin import Surroundings, create
from refloat_scheduler.service.contract import Host, Scheduler
from testkit.virtual.clock import SimChance, SimClock
from testkit.virtual.process import SimProcess
from testkit.virtual.run import World
from testkit.world.disk import SimDisk
from testkit.world.link import SimServerTransport
from testkit.world.network import SimNetwork

STORE = "host.db"


@dataclass(slots=True)
class SimHost:
    """A host's machine; `daemon` and `registry` are those of the newest incarnation, to be asked what users may ask."""

    world: World
    network: SimNetwork
    settings: HostSettings
    disk: SimDisk = field(default_factory=SimDisk)
    name: str = "host"
    daemon: HostDaemon | None = None
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def start(self, failpoint: Callable[[str], None] = lambda _: None) -> SimProcess:
        """Start an incarnation of the host."""
        return self.world.loop.start_process(self.name, lambda: self._run(failpoint))

    async def _run(self, failpoint: Callable[[str], None]) -> None:
        clock = SimClock(self.world.loop)
        chance = SimChance(self.world.streams, self.name, clock)
        database = Database.take_over(
            open_memory(self.disk.connect(STORE)),
            generation=chance.uuid7(),
            now_ms=clock.utc_ms(),
            node_id_label=self.settings.scheduling.node_id_label,
        )
        self.registry = CollectorRegistry()
        surroundings = Surroundings(
            clock=clock,
            chance=chance,
            log=self._log,
            registry=self.registry,
            failpoint=failpoint,
            listen=self._listen,
            secure=True,
        )

        def plugin(host: Host) -> Scheduler:
            return create(host, self.settings, surroundings=surroundings)

        ports = Ports(
            database=database,
            store=InlineStore,
            plugin=plugin,
            clock=clock,
            chance=chance,
            log=self._log,
            leased=lambda executor, count: self.world.trace.add("leased", executor=executor, count=count),
        )
        self.daemon = HostDaemon(self.settings, ports)
        await self.daemon.run()

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[ServerTransport]:
        yield SimServerTransport(self.network)

    def _log(self, level: str, sentence: str, values: Mapping[str, object]) -> None:
        self.world.trace.add("log", proc=self.name, level=level, text=sentence, values=sorted(values.items()))

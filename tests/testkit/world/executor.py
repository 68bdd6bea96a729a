"""The executor of the product as a simulated process: its own code on simulated ports."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from refloat_common.core.messages import Report
from refloat_executor.adapters.journal import InlineJournal
from refloat_executor.daemon.executor import Executor
from refloat_executor.daemon.ports import Ports
from refloat_executor.settings import ExecutorSettings
from testkit.virtual.clock import SimChance, SimClock
from testkit.virtual.process import SimProcess
from testkit.virtual.run import World
from testkit.world.apiserver import SimApiServer
from testkit.world.clients import executor_client
from testkit.world.disk import SimDisk
from testkit.world.link import SimClientTransport
from testkit.world.network import SimNetwork


class NoMeters:
    """Meters that nobody reads."""

    def failure(self, category: str, subcategory: str) -> None:
        """See `Meters`."""

    def forced_delete(self) -> None:
        """See `Meters`."""

    def pod_gone(self, overdue_s: float) -> None:
        """See `Meters`."""

    def kube_call(self, verb: str, outcome: str, seconds: float) -> None:
        """See `Meters`."""

    def commit(self, records: int, seconds: float) -> None:
        """See `Meters`."""

    def relist(self, what: str) -> None:
        """See `Meters`."""

    def gauges(self, values: Mapping[str, float]) -> None:
        """See `Meters`."""

    def phases(self, counts: Mapping[tuple[str, str], int]) -> None:
        """See `Meters`."""

    def unexpected(self, what: str) -> None:
        """See `Meters`."""


@dataclass(frozen=True, slots=True)
class SimMachine:
    """What an executor's process meets: its cluster, its disk, and the network to the process named `scheduler`."""

    world: World
    server: SimApiServer
    network: SimNetwork
    disk: SimDisk
    scheduler: str


def start_executor(
    machine: SimMachine, settings: ExecutorSettings, failpoint: Callable[[str], None] = lambda _: None
) -> SimProcess:
    """Start an incarnation of the executor that the settings name."""
    world, name = machine.world, settings.application.cluster_id

    def trace(what: str, values: Mapping[str, object]) -> None:
        world.trace.add(what, exec=name, **{key: value for key, value in values.items() if key != "exec"})

    def log(level: str, sentence: str, values: Mapping[str, object]) -> None:
        world.trace.add("log", exec=name, level=level, text=sentence, values=sorted(values.items()))

    def dead_letter(seq: int, code: str, report: Report) -> None:
        world.trace.add("dead.letter", exec=name, seq=seq, code=code, run=report.run)

    async def run() -> None:
        clock = SimClock(world.loop)
        chance = SimChance(world.streams, name, clock)
        ports = Ports(
            kube=executor_client(machine.server),
            journal=InlineJournal(machine.disk.connect("executor.journal"), chance.token()),
            transport=SimClientTransport(machine.network, machine.scheduler),
            clock=clock,
            chance=chance,
            meters=NoMeters(),
            trace=trace,
            log=log,
            failpoint=failpoint,
            dead_letter=dead_letter,
        )
        await Executor(settings, ports).run()

    return world.loop.start_process(name, run)

"""The host's services on any store, with a clock that stands still and ids that count."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from refloat_common.core.ids import ExecutorId, RunId
from refloat_common.core.messages import Lease
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.queries.transaction import Changes
from refloat_host.adapters.store.writer import InlineStore
from refloat_host.services.events import EventService
from refloat_host.services.host import StoreHost
from refloat_host.services.jobs import JobService
from refloat_host.services.leasing.fits import FitCache
from refloat_host.services.leasing.loop import LeasingService, Limits
from refloat_host.services.news import News
from refloat_host.services.policies import PolicyService
from refloat_host.services.queues import QueueService
from refloat_scheduler.core.leases.states import ExecutorState, OperatorAction
from refloat_scheduler.service.contract import ExecutorView

NOW_MS = 1_800_000_000_000


@dataclass(slots=True)
class StillClock:
    """A clock that a test moves by hand."""

    now_s: float = 1000.0
    now_ms: int = NOW_MS

    def monotonic_s(self) -> float:
        """The time that the test has set."""
        return self.now_s

    def utc_ms(self) -> int:
        """The time that the test has set."""
        return self.now_ms


@dataclass(slots=True)
class CountingChance:
    """Ids that count up, so that a test can name them."""

    made: dict[str, int] = field(default_factory=dict)

    def uuid7(self) -> str:
        """run-1, run-2, …"""
        return self._next("run")

    def ulid(self) -> str:
        """job-001, job-002, …"""
        return self._next("job")

    def token(self) -> str:
        """token-1, token-2, …"""
        return self._next("token")

    def fraction(self) -> float:
        """Always the middle."""
        return 0.5

    def _next(self, kind: str) -> str:
        self.made[kind] = self.made.get(kind, 0) + 1
        return f"{kind}-{self.made[kind]:03}"


@dataclass(slots=True)
class FakePlugin:
    """The plugin's side of leasing and killing: what it was told, and executors as the test sets them."""

    views: list[ExecutorView] = field(default_factory=list)
    offered: list[tuple[ExecutorId, Lease]] = field(default_factory=list)
    killed: list[tuple[ExecutorId, tuple[RunId, ...], str]] = field(default_factory=list)
    policy_changes: int = 0
    orders: list[tuple[ExecutorId, OperatorAction]] = field(default_factory=list)

    async def run(self) -> None:
        """Serve nobody."""
        await anyio.sleep_forever()

    async def operate(self, executor: ExecutorId, action: OperatorAction) -> None:
        """Note the order."""
        if executor not in [view.executor for view in self.views]:
            raise KeyError(executor)
        self.orders.append((executor, action))

    def executors(self) -> Sequence[ExecutorView]:
        """What the test has set, less what was offered."""
        return [self._less_offered(view) for view in self.views]

    def offer(self, executor: ExecutorId, leases: Sequence[Lease]) -> None:
        """Note the offer."""
        self.offered += [(executor, lease) for lease in leases]

    def kill(self, executor: ExecutorId, run_ids: Sequence[RunId], reason: str) -> None:
        """Note the order."""
        self.killed.append((executor, tuple(run_ids), reason))

    def policies_changed(self) -> None:
        """Count the word."""
        self.policy_changes += 1

    def _less_offered(self, view: ExecutorView) -> ExecutorView:
        taken = sum(executor == view.executor for executor, _ in self.offered)
        return replace(view, free_slots=view.free_slots - taken)


def executor_view(
    name: str, free_slots: int, *, may_lease: bool = True, unacknowledged: int = 0, pool: str = "default"
) -> ExecutorView:
    """A live executor with this many free slots."""
    return ExecutorView(
        executor=ExecutorId(name),
        state=ExecutorState.LIVE,
        may_lease=may_lease,
        free_slots=free_slots,
        unacknowledged=unacknowledged,
        pool=pool,
        cordoned=False,
        decommissioned=False,
        silent_for_s=0.0,
    )


class Bench:
    """One store with every service on it."""

    def __init__(self, database: Database) -> None:
        self.clock = StillClock()
        self.chance = CountingChance()
        self.plugin = FakePlugin()
        self.news = News()
        self.fits = FitCache()
        self.store = InlineStore(database, self._committed)
        self.host = StoreHost(self.store, self.news)
        self.queues = QueueService(self.store, self.clock)
        self.policies = PolicyService(self.store, self.clock)
        self.jobs = JobService(self.store, self.clock, self.chance, self.plugin.kill, self.fits)
        self.events = EventService(self.store, self.news)
        self.leasing = LeasingService(
            self.store,
            self.plugin,
            self.clock,
            self.chance,
            self.news,
            self.fits,
            Limits(max_unacknowledged=500, look_again_after_s=10),
            log=lambda _level, _message, _values: None,
        )

    def _committed(self, changes: Changes) -> None:
        self.fits.forget(changes.nodes)
        self.news.publish(changes)

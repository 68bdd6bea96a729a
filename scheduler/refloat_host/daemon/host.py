"""Puts the host together from its settings and its ports, and runs it: the same in a process and in a simulator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import anyio

from refloat_common.adapters.logs import Log
from refloat_common.core.clock import Chance, Clock
from refloat_common.core.ids import ExecutorId
from refloat_common.core.messages import Lease
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.queries.transaction import Changes
from refloat_host.adapters.store.writer import Store
from refloat_host.services.events import EventService
from refloat_host.services.host import StoreHost
from refloat_host.services.jobs import JobService
from refloat_host.services.leasing.fits import FitCache
from refloat_host.services.leasing.loop import LeasingService, Limits
from refloat_host.services.news import News
from refloat_host.services.policies import PolicyService
from refloat_host.services.queues import QueueService
from refloat_host.settings import HostSettings
from refloat_scheduler.service.contract import ExecutorView, Host, Scheduler

StoreFactory: TypeAlias = Callable[[Database, Callable[[Changes], None]], Store]
"""Makes the store that runs on a database; it calls back after each commit."""

PluginFactory: TypeAlias = Callable[[Host], Scheduler]
"""Makes the plugin for a host."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All that the host touches outside of itself. `leased` counts the leases given to an executor."""

    database: Database
    store: StoreFactory
    plugin: PluginFactory
    clock: Clock
    chance: Chance
    log: Log
    leased: Callable[[ExecutorId, int], None]


class PluginEndedError(Exception):
    """The plugin stopped serving although nobody asked it to: without it no failure would ever be decided."""

    def __init__(self) -> None:
        super().__init__("the scheduler plugin has ended by itself")


class HostDaemon:
    """One host. The services may be called while `run` runs."""

    def __init__(self, settings: HostSettings, ports: Ports) -> None:
        self._stopping = anyio.Event()
        self.stopped = anyio.Event()
        """Set once `run` is over after a stop."""
        self._fits = FitCache()
        self._news = News()
        self._ports = ports
        self.store = ports.store(ports.database, self._committed)
        self.plugin = ports.plugin(StoreHost(self.store, self._news))
        self.queues = QueueService(self.store, ports.clock)
        self.policies = PolicyService(self.store, ports.clock, self.plugin.policies_changed)
        self.jobs = JobService(self.store, ports.clock, ports.chance, self.plugin.kill, self._fits)
        self.events = EventService(self.store, self._news)
        limits = Limits(
            settings.scheduling.max_unacknowledged_jobs_per_executor, settings.schedule_period.total_seconds()
        )
        self._leasing = LeasingService(
            self.store,
            _Counted(self.plugin, ports.leased),
            ports.clock,
            ports.chance,
            self._news,
            self._fits,
            limits,
            ports.log,
        )

    def stop(self) -> None:
        """Give no more leases, let the plugin end, then close the store."""
        self._stopping.set()

    def ill(self) -> str:
        """What is wrong; empty while nothing is. A silent executor does not make the host ill."""
        return self.store.trouble

    async def run(self) -> None:
        """Run until stopped.

        Raises:
            ExceptionGroup: of what ended it: `StoreBrokenError`, `PluginEndedError`, whatever the plugin raised, or a
                defect.
        """
        async with anyio.create_task_group() as outer:
            outer.start_soon(self.store.run, name="store")
            async with anyio.create_task_group() as inner:
                inner.start_soon(self._run_plugin, name="plugin")
                inner.start_soon(self._leasing.run, name="leasing")
                self._news.leasing.set()
                await self._stopping.wait()
                inner.cancel_scope.cancel()
            outer.cancel_scope.cancel()
        self.stopped.set()

    async def _run_plugin(self) -> None:
        await self.plugin.run()
        raise PluginEndedError

    def _committed(self, changes: Changes) -> None:
        self._fits.forget(changes.nodes)
        self._news.publish(changes)


class _Counted:
    """The plugin's side of leasing, with a count of what is offered."""

    def __init__(self, plugin: Scheduler, leased: Callable[[ExecutorId, int], None]) -> None:
        self._plugin = plugin
        self._leased = leased

    def executors(self) -> Sequence[ExecutorView]:
        """All known executors."""
        return self._plugin.executors()

    def offer(self, executor: ExecutorId, leases: Sequence[Lease]) -> None:
        """Send leases whose runs are committed."""
        self._plugin.offer(executor, leases)
        self._leased(executor, len(leases))

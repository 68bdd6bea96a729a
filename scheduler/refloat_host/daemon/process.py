"""The host as a process: real ports from settings, signals, and what the process ends with."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import anyio.abc
import zmq
from prometheus_client import CollectorRegistry, disable_created_metrics

from refloat_common.adapters.clock import SystemChance, SystemClock
from refloat_common.adapters.endpoints import PortTakenError, serve_health, serve_metrics
from refloat_common.adapters.failpoints import failpoint_from
from refloat_common.adapters.logs import JsonLog, Log
from refloat_common.adapters.zmq_link.gate import LinkNotGuardedError
from refloat_host.adapters.metrics import ApiMeters, HostMeters
from refloat_host.adapters.plugins import find_plugin
from refloat_host.adapters.store.database import Database
from refloat_host.adapters.store.errors import StoreBrokenError
from refloat_host.adapters.store.opening import open_store
from refloat_host.adapters.store.queries.transaction import Changes
from refloat_host.adapters.store.writer import Store, ThreadedStore
from refloat_host.api.answers import Desk
from refloat_host.api.server import AddressTakenError, Services, serving
from refloat_host.daemon.host import HostDaemon, PluginEndedError, Ports
from refloat_host.services.admin import AdminService
from refloat_host.services.lookup import LookupService
from refloat_host.settings import HostSettings
from refloat_scheduler.plugin import Link, Surroundings
from refloat_scheduler.service.contract import Host, Scheduler

OK, FAILED = 0, 1
"""Exit codes."""

_ENDINGS = (
    AddressTakenError,
    LinkNotGuardedError,
    PluginEndedError,
    PortTakenError,
    StoreBrokenError,
    zmq.ZMQError,
)
"""What may end a running host, each with a message of its own; anything else is a defect."""


async def run_process(settings: HostSettings) -> int:
    """Run until SIGTERM or SIGINT, or until something ends it; gives the exit code.

    Raises:
        StoreUrlError, StoreLockedError, StoreTooNewError, StoreForeignError, PluginMissingError, KeyFileError,
        SettingsError, FailpointRefusedError, SQLAlchemyError: it can't start; the message says why.
    """
    log = JsonLog("host", settings.log_level)
    for warning in settings.warnings():
        log("warning", warning, {})
    code = OK
    with _ports(settings, log) as (ports, registry):
        daemon = HostDaemon(settings, ports)
        try:
            await _serve(settings, daemon, registry, log)
        except* _ENDINGS as group:
            code = FAILED
            for error in _leaves(group):
                log("error", str(error), {"why": type(error).__name__})
    return code


async def _serve(settings: HostSettings, daemon: HostDaemon, registry: CollectorRegistry, log: Log) -> None:
    """Open the doors, run the host, and close the doors before it stops."""
    services = Services(
        daemon.queues,
        daemon.policies,
        daemon.jobs,
        daemon.events,
        LookupService(daemon.store),
        AdminService(daemon.store, daemon.jobs, daemon.queues, daemon.plugin),
    )
    with serve_metrics(settings.listen_address, settings.metrics.port, registry) as metrics_port:
        async with (
            serve_health(settings.listen_address, settings.http.port, daemon.ill) as health_port,
            anyio.create_task_group() as tasks,
        ):
            stop = anyio.Event()
            await tasks.start(_stop_on_signal, stop, log)
            tasks.start_soon(daemon.run, name="host")
            desk = Desk(log, ApiMeters(registry).answered)
            async with serving(services, settings.grpc.listen_address, settings.grpc.port, desk) as api:
                log("info", "the host has started", {
                    "generation": daemon.store.database.generation,
                    "epoch": daemon.store.database.epoch,
                    "api": api,
                    "metrics_port": metrics_port,
                    "health_port": health_port,
                })  # fmt: skip
                await stop.wait()
            daemon.stop()
            await daemon.stopped.wait()
            tasks.cancel_scope.cancel()
    log("info", "the host has stopped", {})


async def _stop_on_signal(stop: anyio.Event, log: Log, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for received in signals:
            log("info", "the host was asked to stop", {"signal": received.name})
            stop.set()


@contextmanager
def _ports(settings: HostSettings, log: Log) -> Iterator[tuple[Ports, CollectorRegistry]]:
    """The real world outside the host, for as long as the context lasts."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's own
    clock, chance, registry = SystemClock(), SystemChance(), CollectorRegistry()
    meters, failpoint, create = HostMeters(registry), failpoint_from(), find_plugin(settings.plugin)
    link = Link(
        control=settings.link.control,
        reports=settings.link.reports,
        secret_key=settings.link.secret_key,
        executor_keys=settings.link.executor_keys,
    )
    surroundings = Surroundings(clock=clock, chance=chance, log=log, registry=registry, failpoint=failpoint)

    def plugin(host: Host) -> Scheduler:
        made: Scheduler = create(host, settings, link, surroundings)
        return made

    def store(database: Database, on_commit: Callable[[Changes], None]) -> Store:
        return ThreadedStore(database, on_commit, meters.commit)

    opened = open_store(settings.store.url)
    try:
        database = Database.take_over(
            opened,
            generation=chance.uuid7(),
            now_ms=clock.utc_ms(),
            node_id_label=settings.scheduling.node_id_label,
        )
        yield Ports(database, store, plugin, clock, chance, log, meters.leased), registry
    finally:
        opened.close()


def _leaves(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error

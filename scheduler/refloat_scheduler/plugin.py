"""The entry point `refloat.scheduler_plugins`: the only name that a host needs to know.

scheduler = create(host, settings, link=Link(...), clock=..., chance=...)
await scheduler.run()
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry

from refloat_common.adapters.clock import SystemChance, SystemClock
from refloat_common.adapters.config_files import read_tree
from refloat_common.adapters.failpoints import failpoint_from
from refloat_common.adapters.logs import JsonLog, Log
from refloat_common.adapters.zmq_link.keys import KeyBook, read_secret
from refloat_common.adapters.zmq_link.server import ServerKeys, serve
from refloat_common.core.clock import Chance, Clock
from refloat_common.core.link.transport import ServerTransport
from refloat_common.core.messages import Timing
from refloat_scheduler.adapters.metrics import PrometheusMeters
from refloat_scheduler.service.contract import Host
from refloat_scheduler.service.office import Means
from refloat_scheduler.service.scheduler import Listen, Periods, SchedulerService
from refloat_scheduler.settings import SchedulerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where executors connect, and the keys that say who speaks; without keys only on loopback."""

    control: str
    reports: str
    secret_key: Path | None = None
    executor_keys: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the plugin touches outside of its host; each has the real thing as its default.

    `listen` opens the link; a simulator gives its own, and says with `secure` whether its connections name executors.
    """

    clock: Clock | None = None
    chance: Chance | None = None
    log: Log | None = None
    registry: CollectorRegistry | None = None
    failpoint: Callable[[str], None] | None = None
    listen: Listen | None = None
    secure: bool = True


def create(
    host: Host, settings: SchedulerSettings, link: Link | None = None, surroundings: Surroundings | None = None
) -> SchedulerService:
    """The plugin for a host; it does nothing before `run`.

    Raises:
        ValueError: neither a link nor something that stands for it.
        KeyFileError, SettingsError: keys that can't be used.
        FailpointRefusedError: the environment asks for a crash that may not happen.
    """
    given = surroundings or Surroundings()
    clock, log = given.clock or SystemClock(), given.log or JsonLog("scheduler")
    listen, secure = given.listen, given.secure
    if listen is None:
        if link is None:
            raise ValueError("link: the addresses that executors connect to are missing")
        listen, secure = _listen_on(link, log), link.secret_key is not None
    reset_s = settings.metrics.job_state_metrics_reset_interval.total_seconds()
    meters = PrometheusMeters(given.registry or REGISTRY, reset_s, clock.monotonic_s())
    means = Means(
        host=host,
        clock=clock,
        log=log,
        emit=meters.emit,
        reset_meters=meters.reset_if_due,
        failpoint=given.failpoint or failpoint_from(),
        retry=settings.retry_settings(),
        lease=settings.lease_settings(),
    )
    boot = (given.chance or SystemChance()).token()
    return SchedulerService(means, _periods(settings), boot, listen, secure=secure)


def _periods(settings: SchedulerSettings) -> Periods:
    leases = settings.leases
    return Periods(
        policy_refresh_s=settings.queue_refresh_period.total_seconds(),
        missing_run_grace_s=leases.missing_run_grace.total_seconds(),
        timing=Timing(
            heartbeat_interval_s=leases.heartbeat_interval.total_seconds(),
            start_window_s=leases.start_window.total_seconds(),
        ),
    )


def _listen_on(link: Link, log: Log) -> Callable[[], AbstractAsyncContextManager[ServerTransport]]:
    """Opens the two sockets; keys are read here, so that a bad file is known before anything runs."""
    keys: ServerKeys | None = None
    if link.secret_key is not None and link.executor_keys is not None:
        keys = ServerKeys(read_secret(link.secret_key), KeyBook(link.executor_keys, read_tree))

    @asynccontextmanager
    async def listen() -> AsyncIterator[ServerTransport]:
        async with serve(link.control, link.reports, keys, lambda text: log("warning", text, {})) as server:
            where = {channel.value: endpoint for channel, endpoint in server.endpoints.items()}
            log("info", "the link is open", where)
            yield server

    return listen

"""Every setting of the standalone host: the plugin's, and those of the store, the link and the ports.

Key names are Armada's where it has one, so that the scheduler's file of an Armada deployment says what it meant there
as far as it applies.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from refloat_common.core.settings import FileModel, Flag, Whole
from refloat_host.core.listening import LoopbackAddress
from refloat_scheduler.settings import MetricsSettings, Period, SchedulerSettings

Port = Annotated[Whole, Field(ge=0, le=65535)]
"""A TCP port; 0 opens any free one and says which in the log."""

_STORES = ("sqlite:///", "postgresql://")


def _store_url(url: str) -> str:
    if not url.startswith(_STORES) or url in _STORES:
        raise ValueError("input should be sqlite:///PATH or postgresql://USER@HOST/NAME")
    return url


class StoreSettings(FileModel):
    """`store`: where jobs, runs, queues, policies and events are kept.

    A SQLite file belongs on a local disk. With PostgreSQL a password is better left to `PGPASSWORD` or a password file.
    """

    url: Annotated[str, AfterValidator(_store_url)] = "sqlite:////var/lib/refloat/host.db"


class LinkSettings(FileModel):
    """`link`: the two addresses that executors connect to, and the keys that say who speaks.

    `executor_keys` is the file that lists which public keys speak for which executor; it is read again when it changes.
    """

    control: str = "tcp://127.0.0.1:50061"
    reports: str = "tcp://127.0.0.1:50062"
    secret_key: Path | None = None
    executor_keys: Path | None = None
    insecure: Flag = False

    @model_validator(mode="after")
    def _keys_or_none(self) -> "LinkSettings":
        keys = (self.secret_key is not None, self.executor_keys is not None)
        if self.insecure and any(keys):
            raise ValueError("insecure: true, and keys are given too: one of the two is meant")
        if not self.insecure and not all(keys):
            raise ValueError("secretKey and executorKeys are required (or insecure: true, on loopback)")
        return self


class PortSettings(FileModel):
    """A block that holds a port."""

    port: Port


class HttpSettings(PortSettings):
    """`http`: /health and /healthz."""

    port: Port = 8080


class GrpcSettings(PortSettings):
    """`grpc`: the management API, on loopback only as long as it knows no permissions."""

    port: Port = 50051
    listen_address: LoopbackAddress = "127.0.0.1"


class HostMetricsSettings(MetricsSettings):
    """`metrics`: the Prometheus endpoint, and how often the counters per queue begin anew.

    `refresh_interval` is accepted for Armada's files; samples here are as fresh as the scrape.
    """

    port: Port = 9000
    refresh_interval: Period = timedelta(seconds=30)


class HostSettings(SchedulerSettings):
    """All of it.

    `cycle_period` is accepted for Armada's files: nothing here waits for a cycle. `schedule_period` is how often the
    leasing loop looks by itself; news wakes it at once. `plugin` is its name in the entry-point group
    `refloat.scheduler_plugins`.
    """

    store: StoreSettings = StoreSettings()
    link: LinkSettings
    cycle_period: Period = timedelta(seconds=1)
    schedule_period: Period = timedelta(seconds=10)
    metrics: HostMetricsSettings = HostMetricsSettings()
    http: HttpSettings = HttpSettings()
    grpc: GrpcSettings = GrpcSettings()
    plugin: Annotated[str, Field(min_length=1)] = "refloat"
    listen_address: str = "127.0.0.1"
    log_level: Annotated[str, Field(pattern="^(debug|info|warning|error)$")] = "info"

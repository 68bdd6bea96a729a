"""The plugin's settings, with Armada's key names where it has one.

A host that has settings of its own adds them in a subclass. Durations are Go's (`30s`, `1h`). Whatever would let an
executor be leased to after its lease could have run out is refused here, with the keys and their values.
"""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import Field, model_validator

from refloat_common.core.settings import Duration, FileModel, Flag, Whole, format_go_duration
from refloat_scheduler.core.leases.registry import LeaseSettings
from refloat_scheduler.core.retry.gates import RetrySettings

_ZERO = timedelta()
_DAY = timedelta(days=1)
_YEAR = timedelta(days=365)

Period = Annotated[Duration, Field(gt=_ZERO, le=_DAY)]
"""How often something is done."""

Wait = Annotated[Duration, Field(gt=_ZERO, le=_YEAR)]
"""How long something is waited for."""


class RetryPolicySettings(FileModel):
    """`scheduling.retryPolicy`: the retry engine.

    `global_max_retries` is 5 when it is not written. 0 is the kill switch, so it must be written: an empty value, which
    Armada takes for 0, is refused. There is no unlimited setting, so a negative number is refused too.
    """

    enabled: Flag = False
    global_max_retries: Annotated[Whole, Field(ge=0)] = 5
    default_policy_name: str = ""


class SchedulingSettings(FileModel):
    """`scheduling`. `max_retries` is the legacy limit on returned leases, `executor_timeout` stops new leases.

    `indexed_node_labels` is accepted for Armada's files; nothing depends on it.
    """

    retry_policy: RetryPolicySettings = RetryPolicySettings()
    node_id_label: Annotated[str, Field(min_length=1, max_length=317)] = "kubernetes.io/hostname"
    indexed_node_labels: tuple[str, ...] = ()
    max_retries: Annotated[Whole, Field(ge=0, le=1_000_000)] = 3
    executor_timeout: Wait = timedelta(seconds=60)
    max_unacknowledged_jobs_per_executor: Annotated[Whole, Field(ge=1, le=100_000)] = 500


class MetricsSettings(FileModel):
    """`metrics`."""

    job_state_metrics_reset_interval: Wait = timedelta(hours=12)


class SelfPreservationSettings(FileModel):
    """`leases.selfPreservation`: when so many executors are silent that none is declared lost.

    `threshold` is the share of the executors that may be lost; one always may.
    """

    threshold: Annotated[float, Field(gt=0, le=1)] = 1 / 3
    leave_after: Wait = timedelta(seconds=60)
    alert_every: Wait = timedelta(hours=1)
    mass_window: Wait = timedelta(minutes=10)
    expiry_interval: Wait = timedelta(seconds=60)


class LeasesSettings(FileModel):
    """`leases`: Refloat's own settings of the lease with each executor.

    `startup_grace` is `executorTimeout` when it is not written; `suspect_after` is at most that. `start_window` is how
    long an executor may start pods after its last answered heartbeat. `missing_run_grace` is how long a run that its
    executor does not list is waited for.
    """

    heartbeat_interval: Period = timedelta(seconds=5)
    start_window: Wait = timedelta(seconds=30)
    suspect_after: Wait = timedelta(minutes=5)
    startup_grace: Wait | None = None
    start_barrier: Wait = timedelta(seconds=120)
    tick: Period = timedelta(seconds=1)
    tick_gap: Period = timedelta(seconds=5)
    missing_run_grace: Wait = timedelta(seconds=60)
    self_preservation: SelfPreservationSettings = SelfPreservationSettings()


class SchedulerSettings(FileModel):
    """All of it. `executor_timeout` is the lease: a silent executor is lost after it."""

    scheduling: SchedulingSettings = SchedulingSettings()
    executor_timeout: Wait = timedelta(hours=1)
    queue_refresh_period: Period = timedelta(seconds=10)
    metrics: MetricsSettings = MetricsSettings()
    leases: LeasesSettings = LeasesSettings()

    @model_validator(mode="before")
    @classmethod
    def _refuse_empty_cap(cls, data: object) -> object:
        """An empty `globalMaxRetries` is 0 to Armada and "not written" to everybody else: nobody may rely on either."""
        if "globalmaxretries" in _empty_keys(data, ("scheduling", "retrypolicy")):
            raise ValueError(
                "scheduling.retryPolicy.globalMaxRetries is empty; write a number, or leave the key out for 5"
            )
        return data

    @model_validator(mode="after")
    def _check_order(self) -> "SchedulerSettings":
        """`3·heartbeat ≤ startWindow < placement timeout ≤ lease / 2`, and ticks far finer than heartbeats."""
        leases, placement = self.leases, self.scheduling.executor_timeout
        beats, window = "leases.heartbeatInterval", "leases.startWindow"
        _at_most(f"3 times {beats}", 3 * leases.heartbeat_interval, window, leases.start_window)
        if leases.start_window >= placement:
            raise ValueError(
                f"{window} ({format_go_duration(leases.start_window)}) must be below scheduling.executorTimeout "
                f"({format_go_duration(placement)}), else an executor starts pods that nobody waits for any more"
            )
        _at_most("twice scheduling.executorTimeout", 2 * placement, "executorTimeout", self.executor_timeout)
        _at_most("twice leases.tick", 2 * leases.tick, beats, leases.heartbeat_interval)
        _at_most("twice leases.tick", 2 * leases.tick, "leases.tickGap", leases.tick_gap)
        return self

    def warnings(self) -> tuple[str, ...]:
        """What is allowed and yet should be known at a start."""
        retry = self.scheduling.retry_policy
        if retry.enabled and retry.global_max_retries == 0:
            text = (
                "scheduling.retryPolicy.enabled is true but globalMaxRetries is 0: the retry engine decides and "
                "attributes failures, but grants no retry"
            )
            return (text,)
        return ()

    def retry_settings(self) -> RetrySettings:
        """What verdicts depend on."""
        retry = self.scheduling.retry_policy
        text = "|".join(map(repr, (retry, self.scheduling.max_retries, self.scheduling.node_id_label)))
        return RetrySettings(
            enabled=retry.enabled,
            global_max_retries=retry.global_max_retries,
            default_policy=retry.default_policy_name,
            attempt_limit=self.scheduling.max_retries + 1,
            node_id_label=self.scheduling.node_id_label,
            settings_hash=hashlib.sha256(text.encode()).hexdigest(),
        )

    def lease_settings(self) -> LeaseSettings:
        """What the registry of executors goes by."""
        leases, preservation = self.leases, self.leases.self_preservation
        return LeaseSettings(
            heartbeat_interval_s=leases.heartbeat_interval.total_seconds(),
            placement_timeout_s=self.scheduling.executor_timeout.total_seconds(),
            suspect_after_s=min(leases.suspect_after, self.executor_timeout).total_seconds(),
            lease_timeout_s=self.executor_timeout.total_seconds(),
            startup_grace_s=(leases.startup_grace or self.executor_timeout).total_seconds(),
            start_barrier_s=leases.start_barrier.total_seconds(),
            tick_s=leases.tick.total_seconds(),
            tick_gap_s=leases.tick_gap.total_seconds(),
            preservation_threshold=preservation.threshold,
            preservation_leave_s=preservation.leave_after.total_seconds(),
            alert_every_s=preservation.alert_every.total_seconds(),
            mass_window_s=preservation.mass_window.total_seconds(),
            expiry_interval_s=preservation.expiry_interval.total_seconds(),
            max_unacknowledged=self.scheduling.max_unacknowledged_jobs_per_executor,
        )


def _empty_keys(data: object, path: tuple[str, ...]) -> set[str]:
    """The keys without a value in the block at a path, in folded case."""
    for step in path:
        if not isinstance(data, Mapping):
            return set()
        data = next((value for key, value in data.items() if str(key).casefold() == step), None)
    if not isinstance(data, Mapping):
        return set()
    return {str(key).casefold() for key, value in data.items() if value is None}


def _at_most(low_name: str, low: timedelta, high_name: str, high: timedelta) -> None:
    if low > high:
        raise ValueError(
            f"{low_name} ({format_go_duration(low)}) must be at most {high_name} ({format_go_duration(high)})"
        )

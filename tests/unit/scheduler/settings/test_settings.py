"""The plugin's settings: defaults, the kill switch, and combinations that are refused."""

from datetime import timedelta

import pytest

from refloat_common.core.settings import SettingsError, parse_settings
from refloat_scheduler.core.leases.registry import LeaseSettings
from refloat_scheduler.core.retry.gates import RetrySettings
from refloat_scheduler.settings import SchedulerSettings


def read(**tree: object) -> SchedulerSettings:
    return parse_settings(SchedulerSettings, tree)


def test_the_defaults_are_those_of_the_leases_design() -> None:
    settings = read()
    assert settings.lease_settings() == LeaseSettings()
    assert (settings.executor_timeout, settings.scheduling.executor_timeout) == (
        timedelta(hours=1),
        timedelta(seconds=60),
    )
    assert settings.queue_refresh_period == timedelta(seconds=10)
    assert settings.metrics.job_state_metrics_reset_interval == timedelta(hours=12)
    assert settings.scheduling.max_unacknowledged_jobs_per_executor == 500


def test_the_engine_is_off_and_its_cap_is_five_unless_written() -> None:
    retry = read().retry_settings()
    assert retry == RetrySettings(settings_hash=retry.settings_hash)
    assert (retry.enabled, retry.global_max_retries, retry.attempt_limit) == (False, 5, 4)


def test_the_hash_names_the_settings_that_verdicts_depend_on() -> None:
    hashes = [
        read().retry_settings().settings_hash,
        read(scheduling={"retryPolicy": {"globalMaxRetries": 5}}).retry_settings().settings_hash,
        read(scheduling={"retryPolicy": {"globalMaxRetries": 6}}).retry_settings().settings_hash,
        read(scheduling={"maxRetries": 4}).retry_settings().settings_hash,
        read(scheduling={"nodeIdLabel": "x"}).retry_settings().settings_hash,
    ]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4


def test_the_kill_switch_is_zero_when_written_and_is_warned_about() -> None:
    off = read(scheduling={"retryPolicy": {"enabled": True, "globalMaxRetries": 0}})
    assert off.retry_settings().global_max_retries == 0
    (warning,) = off.warnings()
    assert warning.startswith("scheduling.retryPolicy.enabled is true but globalMaxRetries is 0: ")
    assert read(scheduling={"retryPolicy": {"globalMaxRetries": 0}}).warnings() == ()
    assert read(scheduling={"retryPolicy": {"enabled": True}}).warnings() == ()


@pytest.mark.parametrize(
    ("tree", "error"),
    [
        (
            {"scheduling": {"retryPolicy": {"globalMaxRetries": -1}}},
            "scheduling.retryPolicy.globalMaxRetries: must be at least 0, got -1",
        ),
        (
            {"Scheduling": {"RETRYPOLICY": {"globalmaxretries": None}}},
            "scheduling.retryPolicy.globalMaxRetries is empty; write a number, or leave the key out for 5",
        ),
        ({"scheduling": {"nodeIdLabel": ""}}, "scheduling.nodeIdLabel: "),
        ({"scheduling": {"maxRetries": -1}}, "scheduling.maxRetries: must be at least 0, got -1"),
        ({"scheduling": {"retryPolicy": {"enable": True}}}, "scheduling.retryPolicy.enable: unknown key"),
        (
            {"executorTimeout": "119s"},
            "twice scheduling.executorTimeout (2m) must be at most executorTimeout (1m59s)",
        ),
        (
            {"scheduling": {"executorTimeout": "30s"}},
            "leases.startWindow (30s) must be below scheduling.executorTimeout (30s), else an executor starts pods",
        ),
        (
            {"leases": {"startWindow": "14s"}},
            "3 times leases.heartbeatInterval (15s) must be at most leases.startWindow (14s)",
        ),
        (
            {"leases": {"tick": "3s", "tickGap": "9s"}},
            "twice leases.tick (6s) must be at most leases.heartbeatInterval (5s)",
        ),
        ({"leases": {"tickGap": "1s"}}, "twice leases.tick (2s) must be at most leases.tickGap (1s)"),
        ({"leases": {"selfPreservation": {"threshold": 0}}}, "leases.selfPreservation.threshold: "),
    ],
)  # fmt: skip
def test_refused(tree: dict[str, object], error: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(**tree)
    assert str(caught.value).startswith(error)


def test_a_short_lease_for_a_demonstration() -> None:
    settings = read(
        executorTimeout="10s",
        scheduling={"executorTimeout": "4s"},
        leases={"heartbeatInterval": "1s", "startWindow": "3s", "tick": "500ms", "startupGrace": "20s"},
    )
    leases = settings.lease_settings()
    assert (leases.lease_timeout_s, leases.suspect_after_s, leases.startup_grace_s) == (10.0, 10.0, 20.0)
    assert (leases.placement_timeout_s, leases.heartbeat_interval_s, leases.tick_s) == (4.0, 1.0, 0.5)


@pytest.mark.parametrize(
    ("executors", "allowed", "calm"),
    [(1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0), (5, 1, 0), (6, 2, 1), (9, 3, 1), (12, 4, 2), (100, 33, 16)],
)
def test_a_third_of_the_executors_may_be_lost(executors: int, allowed: int, calm: int) -> None:
    settings = LeaseSettings()
    assert (settings.allowed_losses(executors), settings.calm_losses(executors)) == (allowed, calm)

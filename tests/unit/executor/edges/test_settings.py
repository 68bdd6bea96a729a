"""What a person may write into the executor's file."""

from pathlib import Path
from typing import Any

import pytest

from refloat_common.adapters.config_files import load_settings
from refloat_common.core.settings import SettingsError, parse_settings
from refloat_executor.commands import check_config
from refloat_executor.daemon.executor import config_of
from refloat_executor.settings import (
    ApplicationSettings,
    ExecutorSettings,
    JournalSettings,
    KubernetesSettings,
    LinkSettings,
)

CONFIGS = Path(__file__).parents[4] / "configs"
LEAST: dict[str, Any] = {
    "application": {"clusterId": "E1"},
    "link": {"control": "tcp://127.0.0.1:1", "reports": "tcp://127.0.0.1:2", "insecure": True},
}


def with_change(path: str, value: object) -> dict[str, Any]:
    """The least file with one more key; a dot leads into a block."""
    tree: dict[str, Any] = {block: dict(keys) for block, keys in LEAST.items()}
    *blocks, key = path.split(".")
    inner = tree
    for block in blocks:
        inner = inner.setdefault(block, {})
    inner[key] = value
    return tree


def test_the_shipped_file_says_every_key_and_only_defaults() -> None:
    shipped = load_settings(ExecutorSettings, [CONFIGS / "executor.yaml"], {})
    least = parse_settings(ExecutorSettings, LEAST)
    assert shipped.kubernetes == least.kubernetes
    assert shipped.journal == least.journal
    assert (shipped.http_port, shipped.metric, shipped.log_level) == (8080, least.metric, "info")
    assert shipped.application.model_copy(update={"cluster_id": "E1"}) == least.application
    text = (CONFIGS / "executor.yaml").read_text()
    for model in (ExecutorSettings, ApplicationSettings, KubernetesSettings, LinkSettings, JournalSettings):
        for name, field in model.model_fields.items():
            assert f"{field.alias or name}:" in text, name


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (
            "kubernetes.trackedNodeLabel",
            [],
            "kubernetes.trackedNodeLabel: unknown key; did you mean trackedNodeLabels?",
        ),
        ("application.clusterId", "", "application.clusterId: "),
        ("kubernetes.QPS", 0, "kubernetes.QPS: "),
        ("kubernetes.podKillTimeout", "30", "kubernetes.podKillTimeout: "),
        ("kubernetes.podKillTimeout", "0s", "kubernetes.podKillTimeout: "),
        ("kubernetes.fatalPodSubmissionErrors", ["(a"], "kubernetes.fatalPodSubmissionErrors[0]: "),
        ("httpPort", 70000, "httpPort: "),
        ("logLevel", "loud", "logLevel: "),
        ("journal.maxBytes", 5, "journal.maxBytes: "),
        ("link.secretKey", "/k", "link: "),
    ],
)
def test_what_can_not_be_meant_is_refused_by_name(path: str, value: object, named: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse_settings(ExecutorSettings, with_change(path, value))
    assert str(refused.value).startswith(named)


@pytest.mark.parametrize("missing", ["application", "link"])
def test_what_must_be_written_is_asked_for(missing: str) -> None:
    with pytest.raises(SettingsError, match=f"^{missing}: is required$"):
        parse_settings(ExecutorSettings, {block: keys for block, keys in LEAST.items() if block != missing})


def test_keys_are_needed_unless_the_link_is_insecure() -> None:
    with pytest.raises(SettingsError, match="secretKey and schedulerKey are required"):
        parse_settings(ExecutorSettings, with_change("link.insecure", "false"))


def test_armadas_durations_reach_the_ledger() -> None:
    tree = with_change("kubernetes.stuckTerminatingPodExpiry", "1m30s")
    tree["kubernetes"]["failedPodExpiry"] = "0s"
    limits = config_of(parse_settings(ExecutorSettings, tree)).limits
    assert (limits.stuck_expiry_s, limits.failed_pod_expiry_s, limits.reads_events) == (90.0, 0.0, False)


def test_rules_on_events_make_the_executor_read_events() -> None:
    rules = {
        "enabled": True,
        "categories": [{"name": "a", "rules": [{"onPodEvents": {"regexp": "x", "type": "Warning"}}]}],
    }
    settings = parse_settings(ExecutorSettings, with_change("application.errorCategories", rules))
    assert config_of(settings).limits.reads_events


WARNINGS = {
    "kubernetes.trackedNodeLabels": (["zone"], "trackedNodeLabels lacks 'kubernetes.io/hostname'"),
    "application.errorCategories": ({"enabled": True}, "no category has action: Delete"),
    "kubernetes.maxTerminatedPods": (0, "maxTerminatedPods is 0"),
    "application.pool": ("gpu", "errorCategories.enabled is false"),
}


@pytest.mark.parametrize(("path", "change"), WARNINGS.items())
def test_what_is_allowed_but_hardly_meant_is_warned_of(path: str, change: tuple[object, str]) -> None:
    value, expected = change
    warnings = list(check_config.warnings_about(parse_settings(ExecutorSettings, with_change(path, value))))
    assert any(expected in warning for warning in warnings)

"""Decides which tests need what this machine lacks: they are skipped with one line that says how to get it, or fail."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.real_kube import kube_unavailable, node_unavailable


def postgres_unavailable() -> str | None:
    """One line that says how to get a PostgreSQL server to start; None where one is installed."""
    if shutil.which("postgres") or any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        return None
    return "needs the programs of a PostgreSQL server: apt-get install postgresql"


# Mark → what its tests lack here, and the seconds one of them may take with the start of what it needs.
TIERS: dict[str, tuple[Callable[[], str | None], float]] = {
    "kube": (kube_unavailable, 90.0),
    "node": (node_unavailable, 180.0),
    "postgres": (postgres_unavailable, 60.0),
}
SKIPPED = pytest.StashKey[dict[str, str]]()


def required_tiers() -> set[str]:
    """The marks that REFLOAT_REQUIRE names: their tests must run, so that what they lack is a failure.

    Raises:
        pytest.UsageError: it names a mark that does not exist.
    """
    names = {name.strip() for name in os.environ.get("REFLOAT_REQUIRE", "").split(",")} - {""}
    if unknown := sorted(names - set(TIERS)):
        message = f"REFLOAT_REQUIRE: unknown {', '.join(unknown)}; known: {', '.join(TIERS)}"
        raise pytest.UsageError(message)
    return names


# Last, when the tests that -m and -k leave out are gone from the list.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests of a tier that cannot run here as skipped, and gives each tier its timeout."""
    required = required_tiers()
    skipped = config.stash.setdefault(SKIPPED, {})
    for tier, (lacks, timeout_s) in TIERS.items():
        tests = [item for item in items if item.get_closest_marker(tier)]
        reason = lacks() if tests else None
        for item in tests:
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(timeout_s))
            if reason and tier not in required:
                item.add_marker(pytest.mark.skip(reason=f"{tier} {reason}"))
        if reason and tier not in required:
            skipped[tier] = f"{len(tests)} {tier} tests skipped: {tier} {reason}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fails a required test at once, with the line that a skip would have shown."""
    for tier in required_tiers():
        if item.get_closest_marker(tier) and (reason := TIERS[tier][0]()):
            pytest.fail(f"{tier} {reason} (required by REFLOAT_REQUIRE)", pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line for each tier that was skipped."""
    for line in config.stash.get(SKIPPED, {}).values():
        terminalreporter.write_line(line)

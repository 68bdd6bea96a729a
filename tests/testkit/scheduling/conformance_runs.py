"""Runs the conformance suite over several hosts in one process: `python -m testkit.scheduling.conformance_runs NAME…`.

Prints one JSON object: for each factory the tests that failed, and how many there were.
"""

import contextlib
import io
import json
import sys
from dataclasses import dataclass, field

import pytest

SUITE = "refloat_scheduler.conformance"


@dataclass(eq=False)  # pytest keeps plugins in sets
class Noted:
    """A pytest plugin that notes how tests end."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest for each phase of each test."""
        if report.failed:
            self.failed.append(report.nodeid.rpartition("/")[2])
        elif report.when == "call" and report.passed:
            self.passed += 1


def run(factory: str) -> dict[str, object]:
    """How the suite ends for one host."""
    noted, said = Noted(), io.StringIO()
    options = ["--pyargs", SUITE, "--host-factory", factory, "-q", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(said):
        code = pytest.main(options, plugins=[noted])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.stderr.write(said.getvalue())
    return {"passed": noted.passed, "failed": sorted(set(noted.failed))}


if __name__ == "__main__":
    results = {factory: run(factory) for factory in sys.argv[1:]}
    sys.stdout.write(json.dumps(results) + "\n")

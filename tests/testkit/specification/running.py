"""Runs the tests that hold the rows, and no others; each must be there, run, and pass."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest

from testkit.specification.page import summary
from testkit.specification.rows import Section, held
from testkit.style.tree import ROOT

OK, FAILED = 0, 1


@dataclass(eq=False)  # pytest keeps plugins in sets
class Noted:
    """A pytest plugin that notes how each test ends."""

    passed: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest for each phase of each test."""
        if report.failed or report.skipped:
            self.broken.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)


def run(sections: Sequence[Section], options: Sequence[str]) -> int:
    """Run them; the last line says how many rows there are, if all are held."""
    named = list(dict.fromkeys(row.test for row in held(sections)))
    noted = Noted()
    code = pytest.main([*options, "-q", "--rootdir", str(ROOT), *(str(ROOT / name) for name in named)], plugins=[noted])
    problems = [f"{row.name}: {problem}" for row in held(sections) if (problem := _problem(row.test, noted))]
    for line in problems:
        sys.stdout.write(f"{line}\n")
    if problems or code != pytest.ExitCode.OK:
        sys.stdout.write(f"{len(problems)} rows are not held\n")
        return FAILED
    sys.stdout.write(f"{summary(sections)}\n")
    return OK


def _problem(test: str, noted: Noted) -> str:
    """What is wrong with a row's test; empty if nothing is. A name without a parameter stands for all its cases."""
    if broken := sorted(_of(test, noted.broken)):
        return f"failed or skipped: {', '.join(broken)}"
    return "" if any(_of(test, noted.passed)) else f"no such test: {test}"


def _of(test: str, ids: Iterable[str]) -> list[str]:
    return [one for one in ids if one == test or one.startswith(f"{test}[")]

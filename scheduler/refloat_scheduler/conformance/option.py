"""Adds the option `--host-factory` to pytest: which host the conformance suite looks at."""

import pytest

OPTION = "--host-factory"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Called by pytest, which finds this module through the entry-point group `pytest11`."""
    parser.getgroup("refloat").addoption(
        OPTION,
        metavar="MODULE:NAME",
        default=None,
        help="the host that `--pyargs refloat_scheduler.conformance` checks: a factory as in docs/hosts.md",
    )

"""Failpoints: only in tests, only known ones, and exactly at the visit that was named."""

import signal
import subprocess
import sys

import pytest

from refloat_common.adapters.failpoints import NAMES, PERMISSION, VARIABLE, FailpointRefusedError, failpoint_from, never


def test_without_the_variable_nothing_happens() -> None:
    assert failpoint_from({}) is failpoint_from({VARIABLE: ""}) is never
    never("host.received")


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({VARIABLE: "host.received"}, "crashes on purpose only where REFLOAT_TESTING=1"),
        ({VARIABLE: "host.received", PERMISSION: "0"}, "crashes on purpose only where REFLOAT_TESTING=1"),
        ({VARIABLE: "host.recieved", PERMISSION: "1"}, "no such failpoint; there are executor.classified, "),
        ({VARIABLE: "host.received:0", PERMISSION: "1"}, "the count must be 1 or more, got '0'"),
        ({VARIABLE: "host.received:x", PERMISSION: "1"}, "the count must be 1 or more, got 'x'"),
    ],
)
def test_a_crash_that_may_not_happen_is_refused(environment: dict[str, str], why: str) -> None:
    with pytest.raises(FailpointRefusedError, match=why):
        failpoint_from(environment)


PROGRAM = """
from refloat_common.adapters.failpoints import failpoint_from
reach = failpoint_from()
for visit in range(5):
    reach("host.received")
    reach("executor.deleted")
    print(visit, flush=True)
"""


@pytest.mark.parametrize(
    ("value", "printed"), [("host.received", ""), ("host.received:1", ""), ("executor.deleted:3", "0\n1\n")]
)
def test_the_process_is_killed_at_the_visit_that_was_named(value: str, printed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={VARIABLE: value, PERMISSION: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, printed)


def test_every_name_can_be_asked_for() -> None:
    assert all(failpoint_from({VARIABLE: name, PERMISSION: "1"}) is not never for name in NAMES)

"""Good hosts pass the conformance suite, and each broken one fails in the rule that it breaks."""

import json
import os
import subprocess
import sys
from typing import TypedDict

import pytest

from testkit.style.tree import ROOT

pytestmark = pytest.mark.timeout(240)

GOOD = ("refloat_host.testing:sqlite", "testkit.scheduling.subject:memory", "shelf_host:opened")
BROKEN = {
    "loses_updates": "test_rule_1_alone.py::test_no_update_is_lost",
    "keeps_halves": "test_rule_2_whole.py::test_a_work_that_raises_applies_nothing",
    "wraps_exceptions": "test_rule_2_whole.py::test_the_exception_of_a_work_comes_out_unchanged",
    "writes_later": "test_rule_2_whole.py::test_what_is_answered_survives_a_kill",
    "reads_stale": "test_rule_3_reads.py::test_marks_executors_and_nodes_are_seen_at_once",
    "refuses_after_the_fact": (
        "test_rule_4_refusals.py::test_a_store_that_can_not_commit_is_unavailable_and_has_applied_nothing"
    ),
    "never_steps_down": "test_rule_5_one_writer.py::test_two_hosts_never_write_to_one_store",
    "overwrites_verdicts": "test_rule_6_unique.py::test_a_second_verdict_over_a_run_is_refused_with_its_transaction",
    "leases_whatever_is_queued": "test_rule_7_leasing.py::test_a_held_job_is_not_leased_before_it_is_released",
    "sorts_its_stream": "test_rule_8_order.py::test_events_come_as_they_were_appended",
}


class Result(TypedDict):
    passed: int
    failed: list[str]


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    """All hosts in one process, because starting one takes longer than the suite itself."""
    factories = [*GOOD, *(f"testkit.broken_hosts:{name}" for name in BROKEN)]
    paths = [str(ROOT / "docs" / "examples"), str(ROOT / "tests")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*paths, *filter(None, sys.path)])}
    command = [sys.executable, "-m", "testkit.scheduling.conformance_runs", *factories]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=220)
    assert done.returncode == 0, done.stderr
    found: dict[str, Result] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("factory", GOOD)
def test_a_good_host_passes(results: dict[str, Result], factory: str) -> None:
    assert results[factory]["failed"] == []
    assert results[factory]["passed"] > 50


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_host_fails_in_the_rule_that_it_breaks(results: dict[str, Result], name: str) -> None:
    assert BROKEN[name] in results[f"testkit.broken_hosts:{name}"]["failed"]


def test_every_rule_is_broken_by_somebody() -> None:
    assert {test.split("_")[2] for test in BROKEN.values()} == set("12345678")
    assert len(BROKEN) == 10

"""kill -9 of the writer: what was reported as committed is there, and of what was not there is nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select

from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.tables import events, jobs
from testkit.host.killed import EXECUTOR, JOURNAL
from testkit.host.stores import url_database

TESTS = Path(__file__).parents[3]


def counts(tx: SqlTransaction) -> tuple[int, int, int]:
    """Jobs, events, and the mark: one each per transaction."""
    return (
        tx.connection.execute(select(func.count()).select_from(jobs)).scalar_one(),
        tx.connection.execute(select(func.count()).select_from(events)).scalar_one(),
        tx.high_water(EXECUTOR, JOURNAL),
    )


def run_until(url: str, stop_at: str, *arguments: str) -> int:
    """Start the writer, kill it as soon as it prints a line; returns the last transaction that it reported."""
    command = [sys.executable, "-m", "testkit.host.killed", url, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    reported = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() != "torn":
                reported = int(line)
            if line.strip() == stop_at:
                process.send_signal(signal.SIGKILL)
        process.wait()
    return reported


@pytest.mark.parametrize("after", [1, 5, 40])
def test_nothing_reported_is_lost_and_nothing_is_halved(store_url: str, after: int) -> None:
    reported = run_until(store_url, str(after))
    with url_database(store_url) as database:
        made, told, mark = database.read(counts)
    assert made == told == mark
    assert mark >= reported >= after


def test_a_transaction_cut_in_the_middle_never_was(store_url: str) -> None:
    assert run_until(store_url, "torn", "4") == 3
    with url_database(store_url) as database:
        assert database.read(counts) == (3, 3, 3)


def test_the_next_process_goes_on_where_the_dead_one_stopped(store_url: str) -> None:
    run_until(store_url, "3")
    with url_database(store_url) as database:
        _, _, before = database.read(counts)
    reported = run_until(store_url, str(before + 3))
    with url_database(store_url) as database:
        made, told, mark = database.read(counts)
        assert database.epoch == 4
    assert made == told == mark >= reported

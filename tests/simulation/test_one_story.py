"""Executor, link, plugin and host of the product live through one failure together, with two crashes in it."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from refloat_fakekube.core.objects import objects
from refloat_scheduler.core.events import (
    JobFailed,
    JobLeased,
    JobPending,
    JobQueued,
    JobRunning,
    JobSubmitted,
    JobSucceeded,
)
from refloat_scheduler.core.model import JobState
from testkit.stories.one_failure import Told, tell
from testkit.virtual.trace import Record

TESTS = Path(__file__).parents[1]
SEEDS = range(6)


@pytest.fixture(scope="module", params=SEEDS)
def told(request: pytest.FixtureRequest) -> Told:
    """The story of one seed."""
    seed: int = request.param
    return tell(seed)


def _one(told: Told, what: str, **values: str) -> Record:
    found = [record for record in told.trace.named(what) if values.items() <= dict(record.values).items()]
    assert len(found) == 1, f"{what} {values}: {len(found)} records\n{told.trace.text()}"
    return found[0]


def test_both_processes_crashed_where_they_should(told: Told) -> None:
    assert [name for name, _ in told.crashes] == ["executor", "host"]


def test_the_job_fails_once_is_retried_with_more_memory_and_succeeds(told: Told) -> None:
    assert told.job.state is JobState.SUCCEEDED
    assert len(told.job.runs) == 2
    [container] = objects(told.pod, "spec", "containers")
    assert container["resources"] == {
        "requests": {"cpu": "1", "memory": "128Mi"},
        "limits": {"cpu": "1", "memory": "128Mi"},
    }
    [verdict] = told.verdicts
    assert (verdict["retry"], verdict["decision"], verdict["category"]) == (True, "retry", "oom")
    assert (verdict["retries_used"], verdict["retries_after"]) == (0, 1)


def test_the_public_events_tell_it_once_and_in_order(told: Told) -> None:
    events = [message.event for message in told.messages]
    kinds = [type(event) for event in events]
    first = [JobSubmitted, JobQueued, JobLeased, JobPending, JobRunning, JobFailed]
    assert kinds == [*first, JobLeased, JobPending, JobRunning, JobSucceeded]
    failed = events[5]
    assert isinstance(failed, JobFailed)
    assert (failed.retryable, failed.failure_category) == (True, "oom")
    runs = [event.run_id for event in events[2:]]
    assert runs == [told.job.runs[0].run_id] * 4 + [told.job.runs[1].run_id] * 4


def test_the_failure_was_named_once_before_anything_was_deleted(told: Told) -> None:
    named = _one(told, "pod.detect")
    deleted = next(record for record in told.trace.named("kube.call") if record.get("verb") == "delete")
    assert (named.get("category"), named.get("action")) == ("oom", "Delete")
    assert named.at_s <= deleted.at_s


def test_the_retry_waited_until_the_old_pod_was_gone(told: Told) -> None:
    uid = str(told.job.runs[0].pod_uid)
    gone = _one(told, "pod.gone", uid=uid)
    removed = _one(told, "truth.pod", uid=uid, phase="Removed")
    first, second = told.trace.named("leased")
    assert first.at_s < removed.at_s <= gone.at_s <= second.at_s


def test_reports_have_no_gap_and_one_payload_each_and_each_was_acknowledged_at_last(told: Told) -> None:
    written = [(int(record.get("seq")), record.get("report")) for record in told.trace.named("jrn.synced")]
    numbers = [seq for seq, _ in written]
    assert numbers == list(range(1, len(numbers) + 1))
    acknowledged = [int(record.get("seq")) for record in told.trace.named("rep.acked")]
    assert acknowledged[-1] == numbers[-1]
    assert all(before <= after for before, after in pairwise(acknowledged))


def test_the_report_that_was_committed_before_the_crash_was_sent_again_and_counted_once(told: Told) -> None:
    [failed] = [record.get("seq") for record in told.trace.named("jrn.synced") if record.get("report") == "failed"]
    sent = [record for record in told.trace.named("rep.sent") if record.get("seq") == failed]
    crashed_s = dict(told.crashes)["host"]
    assert min(record.at_s for record in sent) < crashed_s
    assert len(told.verdicts) == 1
    assert told.job.runs[0].error is not None


def test_one_seed_tells_one_story_whatever_the_hash_seed_and_the_heap() -> None:
    command = [sys.executable, "-m", "testkit.stories.one_failure", "3"]
    hashes = set()
    for hash_seed, noise in (("0", "0"), ("4242", "70001")):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
        done = subprocess.run(
            [*command, noise], env=environment, capture_output=True, text=True, check=True, timeout=18
        )
        hashes.add(done.stdout)
    assert hashes == {f"{tell(3).trace.digest()}\n"}


def test_another_seed_tells_another_story() -> None:
    assert len({tell(seed).trace.digest() for seed in (1, 2)}) == 2

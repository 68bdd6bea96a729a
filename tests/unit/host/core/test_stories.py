"""What an operator is told about where a job stands, and what it waits for."""

from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId, JobId, PodUid, RunId
from refloat_host.core.stories import state_of, waits_for
from refloat_scheduler.core.model import Claim, Job, JobState, Run, RunState

JOB = Job(job_id=JobId("job-1"), queue="q", job_set="s")
CLAIM = Claim(RunId("run-1"), JOB.job_id, ExecutorId("east"))


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (JOB, ""),
        (replace(JOB, hold_for_uid=PodUid("u")), "the pod of the run before (uid u) has to be reported gone"),
        (replace(JOB, claims=(CLAIM,)), "executor east holds run run-1, which this store does not know"),
        (replace(JOB, cancel_requested=True), "its cancellation"),
        (replace(JOB, state=JobState.FAILED, hold_for_uid=PodUid("u")), ""),
    ],
)
def test_a_queued_job_says_what_it_waits_for(job: Job, words: str) -> None:
    assert waits_for(job) == words


def test_a_job_that_may_be_leased_waits_for_nothing() -> None:
    assert JOB.leasable
    assert waits_for(JOB) == ""


@pytest.mark.parametrize(
    ("job_state", "run_state", "shown"),
    [
        (JobState.QUEUED, RunState.FAILED, "queued"),
        (JobState.LEASED, RunState.LEASED, "leased"),
        (JobState.LEASED, RunState.PENDING, "pending"),
        (JobState.LEASED, RunState.RUNNING, "running"),
        (JobState.FAILED, RunState.FAILED, "failed"),
        (JobState.CANCELLED, RunState.RUNNING, "cancelled"),
    ],
)
def test_of_a_leased_job_is_said_how_far_its_run_has_come(job_state: JobState, run_state: RunState, shown: str) -> None:
    run = Run(run_id=RunId("run-1"), job_id=JOB.job_id, ordinal=1, executor=ExecutorId("east"), state=run_state)
    assert state_of(replace(JOB, state=job_state, runs=(run,))) == shown
    assert state_of(replace(JOB, state=JobState.QUEUED)) == "queued"

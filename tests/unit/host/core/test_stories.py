"""What an operator is told about a job that waits."""

from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId, JobId, PodUid, RunId
from refloat_host.core.stories import waits_for
from refloat_scheduler.core.model import Claim, Job, JobState

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

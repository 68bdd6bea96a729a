"""Batches: each report once, in order; held retries; runs that the store has forgotten."""

from dataclasses import replace

from refloat_common.core.ids import ExecutorId, JobId, PodUid, RunId
from refloat_common.core.messages import ReportKind
from refloat_scheduler.core.effects import HighWaterMoved
from refloat_scheduler.core.model import Claim, JobState, MutationRecord, RunState
from refloat_scheduler.core.reconcile.world import NOTHING_TO_DO
from refloat_scheduler.core.signals import Level, Metric, Sample
from testkit.scheduling.desk import JOURNAL, Desk
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, policy_of, report_of, rule, rules_of, run_of

FAILED = report_of(ReportKind.FAILED)


def test_the_high_water_mark_moves_with_the_batch() -> None:
    desk = Desk(job_of(run_of(1)))
    outcome = desk.report(report_of(ReportKind.RUNNING), FAILED)
    assert outcome.effects[-1] == HighWaterMoved(EXECUTOR, JOURNAL, 2)
    assert desk.host.contents.marks == {(EXECUTOR, JOURNAL): 2}


def test_a_batch_that_was_applied_changes_nothing() -> None:
    desk = Desk(job_of(run_of(1)))
    desk.report(FAILED)
    before = desk.host.contents
    assert desk.report(FAILED, first_seq=1) == NOTHING_TO_DO
    assert desk.host.contents == before


def test_of_a_batch_that_was_applied_in_part_only_the_rest_is_applied() -> None:
    desk = Desk(job_of(run_of(1, RunState.LEASED)))
    desk.report(report_of(ReportKind.PENDING))
    desk.report(report_of(ReportKind.PENDING), report_of(ReportKind.RUNNING), FAILED, first_seq=1)
    assert desk.told() == ["pending", "running", "failed(retryable)"]


def test_behind_a_gap_nothing_is_applied() -> None:
    desk = Desk(job_of(run_of(1)))
    outcome = desk.report(FAILED, first_seq=3)
    assert outcome.effects == ()
    assert outcome.samples == (Sample(Metric.REPORT_GAPS, (("executor", "exec-1"),)),)
    assert [note.level for note in outcome.notes] == [Level.WARNING]
    assert desk.now() == job_of(run_of(1))


def test_one_batch_may_tell_of_a_run_and_of_the_next_one() -> None:
    desk = Desk(job_of(run_of(1)))
    desk.report(FAILED)
    desk.lease(run_of(2))
    desk.report(report_of(ReportKind.RUNNING, "run-2"), report_of(ReportKind.SUCCEEDED, "run-2"))
    assert desk.now().state is JobState.SUCCEEDED
    assert desk.told() == ["failed(retryable)", "succeeded"]


def test_a_second_end_of_the_same_run_in_one_batch_is_late() -> None:
    desk = Desk(job_of(run_of(1)))
    desk.report(FAILED, report_of(ReportKind.SUCCEEDED))
    assert desk.now().state is JobState.QUEUED
    assert [late.kind for late in desk.host.contents.late] == ["succeeded"]


STUCK = report_of(ReportKind.FAILED, category="internal", subcategory="stuck-terminating", pod_gone=False)
RETRY_STUCK = rules_of(policy_of(rule("Retry", "internal", "stuck-terminating")))


def test_a_stuck_pod_holds_its_retry_until_it_is_gone() -> None:
    desk = Desk(job_of(run_of(1)), RETRY_STUCK)
    outcome = desk.report(STUCK)
    assert (desk.now().state, desk.now().hold_for_uid, desk.now().leasable) == (
        JobState.QUEUED,
        PodUid("uid-run-1"),
        False,
    )
    assert outcome.requeued == ()
    assert desk.report(report_of(ReportKind.GONE, uid="uid-other")).requeued == ()
    assert not desk.now().leasable
    assert desk.report(report_of(ReportKind.GONE)).requeued == ("queue-a",)
    assert desk.now().leasable
    assert (desk.told(), desk.host.contents.late) == (["failed(retryable)"], [])


def test_gone_after_a_final_failure_is_no_news() -> None:
    desk = Desk(job_of(run_of(1)))
    desk.report(STUCK, report_of(ReportKind.GONE))
    assert (desk.now().state, desk.host.contents.late) == (JobState.FAILED, [])


def test_a_forgotten_run_of_a_queued_job_is_adopted_and_decided_at_once() -> None:
    desk = Desk(job_of(state=JobState.QUEUED))
    desk.report(report_of(ReportKind.FAILED, run="run-old"))
    job = desk.now()
    assert (job.state, job.queued_version, [run.run_id for run in job.runs]) == (JobState.QUEUED, 2, ["run-old"])
    assert desk.told() == ["leased", "failed(retryable)"]
    assert desk.host.contents.verdicts[RunId("run-old")].failures == 1


def test_a_forgotten_run_that_goes_on_is_adopted_too() -> None:
    desk = Desk(job_of(run_of(1, RunState.FAILED), state=JobState.QUEUED, hold_for_uid=PodUid("uid-1")))
    desk.report(report_of(ReportKind.RUNNING, run="run-old"))
    job = desk.now()
    assert (job.state, job.hold_for_uid, job.runs[-1].ordinal, job.runs[-1].executor) == (
        JobState.LEASED,
        PodUid(""),
        2,
        EXECUTOR,
    )
    assert desk.told() == ["leased", "running"]


def test_a_claimed_run_that_ends_frees_its_job() -> None:
    claim = Claim(RunId("run-old"), JOB, EXECUTOR)
    desk = Desk(job_of(run_of(1)))
    desk.host.contents.claims[claim.run_id] = claim
    assert desk.now().claims == (claim,)
    desk.report(report_of(ReportKind.FAILED, run="run-old"))
    assert (desk.now().claims, desk.now().state, desk.now().runs) == ((), JobState.LEASED, (run_of(1),))
    assert [late.why for late in desk.host.contents.late] == ["the run is unknown, its job leased"]


def test_a_claimed_run_that_ends_after_its_job_was_queued_again_decides_it() -> None:
    claim = Claim(RunId("run-old"), JOB, EXECUTOR)
    desk = Desk(job_of(run_of(1, RunState.FAILED), state=JobState.QUEUED))
    desk.host.contents.claims[claim.run_id] = claim
    assert not desk.now().leasable
    desk.report(report_of(ReportKind.SUCCEEDED, run="run-old"))
    assert (desk.now().state, desk.now().claims) == (JobState.SUCCEEDED, ())


def test_a_record_that_nobody_can_read_costs_the_growth_and_not_the_job() -> None:
    record = MutationRecord(memory_static="junk", avoid=("node-9",), version=4)
    desk = Desk(job_of(run_of(1), record=record), rules_of(policy_of(rule("Retry", "oom", static="1Gi"))))
    outcome = desk.report(FAILED)
    assert [note.level for note in outcome.notes] == [Level.ALERT]
    assert (desk.now().state, desk.now().record) == (
        JobState.QUEUED,
        MutationRecord(memory_static="1Gi", avoid=("node-9",), version=5),
    )


def test_two_executors_keep_their_own_marks() -> None:
    desk = Desk(job_of(run_of(1)))
    desk.report(report_of(ReportKind.RUNNING), executor=ExecutorId("exec-2"))
    desk.report(report_of(ReportKind.RUNNING))
    assert desk.host.contents.marks == {(EXECUTOR, JOURNAL): 1, (ExecutorId("exec-2"), JOURNAL): 1}


def test_jobs_of_one_batch_do_not_mix() -> None:
    other = replace(run_of(1), run_id=RunId("run-b"), job_id=JobId("job-b"))
    desk = Desk(job_of(run_of(1)))
    desk.host.contents.jobs[JobId("job-b")] = job_of(other, job_id=JobId("job-b"))
    desk.report(FAILED, report_of(ReportKind.SUCCEEDED, "run-b", job="job-b"))
    assert [job.state for job in desk.host.contents.jobs.values()] == [JobState.QUEUED, JobState.SUCCEEDED]

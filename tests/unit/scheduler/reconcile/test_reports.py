"""What each report does to a run that is current, and what is told of it."""

from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId, PodUid, RunId
from refloat_common.core.messages import ContainerError, Report, ReportKind
from refloat_scheduler.core.effects import LateReported
from refloat_scheduler.core.events import (
    JobFailed,
    JobLeaseReturned,
    JobPending,
    JobRunning,
    JobSucceeded,
)
from refloat_scheduler.core.explanation import Gate
from refloat_scheduler.core.model import ContainerResult, ErrorKind, JobState, RunError, RunState
from testkit.scheduling.desk import Desk
from testkit.scheduling.makers import EXECUTOR, JOB, NOW_MS, job_of, report_of, rules_of, run_of

LEASED = run_of(1, RunState.LEASED, acknowledged=False, attempted=False, node="", node_label="", error=None)
COMMON = {"job_id": JOB, "job_set_id": "set-a", "queue": "queue-a", "created_ms": NOW_MS, "run_id": RunId("run-1")}
POD = {
    "cluster_id": "exec-1",
    "kubernetes_id": "uid-run-1",
    "pod_name": "armada-job-a-0",
    "pod_namespace": "default",
}
SEEN = {"acknowledged": True, "attempted": True, "node": "node-1", "node_label": "node-1"}


def test_pending_then_running_then_succeeded() -> None:
    desk = Desk(job_of(LEASED))
    desk.report(report_of(ReportKind.PENDING))
    pending = replace(LEASED, state=RunState.PENDING, pod_uid=PodUid("uid-run-1"), **SEEN)  # type: ignore[arg-type]  # fields of a run
    assert desk.now() == job_of(pending, queued_version=2)
    desk.report(report_of(ReportKind.RUNNING))
    running = replace(pending, state=RunState.RUNNING, running_at_ms=NOW_MS)
    assert desk.now() == job_of(running, queued_version=2)
    outcome = desk.report(report_of(ReportKind.SUCCEEDED))
    ended = replace(running, state=RunState.SUCCEEDED, ended_at_ms=NOW_MS)
    assert desk.now() == job_of(ended, state=JobState.SUCCEEDED, queued_version=2, ended_at_ms=NOW_MS)
    assert outcome.room == (EXECUTOR,)
    assert desk.host.contents.events == [
        JobPending(**COMMON, **POD, pool="default"),  # type: ignore[arg-type]  # fields of an event
        JobRunning(**COMMON, **POD, node_name="node-1", pool="default"),  # type: ignore[arg-type]  # fields of an event
        JobSucceeded(**COMMON, **POD, node_name="node-1"),  # type: ignore[arg-type]  # fields of an event
    ]


def test_a_run_may_run_or_end_without_having_been_seen_before() -> None:
    for kind, told in ((ReportKind.RUNNING, "running"), (ReportKind.SUCCEEDED, "succeeded")):
        desk = Desk(job_of(LEASED))
        desk.report(report_of(kind))
        assert desk.told() == [told]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (RunState.PENDING, ReportKind.PENDING),
        (RunState.RUNNING, ReportKind.PENDING),
        (RunState.RUNNING, ReportKind.RUNNING),
    ],
)
def test_what_is_known_already_changes_nothing(state: RunState, kind: ReportKind) -> None:
    desk = Desk(job_of(run_of(1, state)))
    before = desk.now()
    desk.report(report_of(kind))
    assert (desk.now(), desk.told()) == (before, [])


def test_a_failure_that_is_retried() -> None:
    desk = Desk(job_of(run_of(1)))
    container = ContainerError(name="main", exit_code=137, reason="OOMKilled", message="", cause="OOM")
    outcome = desk.report(report_of(ReportKind.FAILED, subcategory="kernel", containers=[container]))
    error = RunError(
        kind=ErrorKind.POD_ERROR,
        category="oom",
        subcategory="kernel",
        message="container main was killed",
        cause="OOM",
        cluster="exec-1",
        node="node-1",
        pod="armada-job-a-0",
        namespace="default",
        uid="uid-run-1",
        containers=(ContainerResult("main", 137, "OOMKilled", "", "OOM"),),
        disposition="Delete",
        pod_gone=True,
    )
    failed = run_of(1, RunState.FAILED, error=error, pod_uid=PodUid("uid-run-1"), ended_at_ms=NOW_MS)
    assert desk.now() == job_of(failed, state=JobState.QUEUED, queued_version=3)
    assert desk.host.contents.events == [
        JobFailed(
            **COMMON,  # type: ignore[arg-type]  # fields of an event
            **POD,  # type: ignore[arg-type]  # fields of an event
            reason="container main was killed",
            node_name="node-1",
            container_statuses=error.containers,
            cause="OOM",
            failure_category="oom",
            failure_subcategory="kernel",
            retryable=True,
        )
    ]
    assert (outcome.requeued, outcome.room) == (("queue-a",), (EXECUTOR,))
    assert desk.host.contents.verdicts[RunId("run-1")].decision == "retry"


def test_a_failure_that_is_final_keeps_the_pods_fields() -> None:
    desk = Desk(job_of(run_of(1)))
    outcome = desk.report(report_of(ReportKind.FAILED, category="user-error"))
    assert (desk.now().state, desk.told(), outcome.requeued) == (JobState.FAILED, ["failed(final)"], ())
    (event,) = desk.host.contents.events
    assert isinstance(event, JobFailed)
    assert (event.pod_name, event.cluster_id, event.node_name, event.cause, event.failure_category) == (
        "armada-job-a-0",
        "exec-1",
        "node-1",
        "OOM",
        "user-error",
    )
    assert event.reason.startswith("Retry policy: no rule matched, using default action\n\nFinal run error:\n")


def test_a_returned_lease_goes_back_to_the_queue_without_a_failed_event() -> None:
    desk = Desk(job_of(run_of(1)))
    desk.report(report_of(ReportKind.RETURNED, message="node drained", uid=""))
    assert desk.now().state is JobState.QUEUED
    assert desk.now().runs[0].returned
    assert desk.host.contents.events == [
        JobLeaseReturned(**COMMON, cluster_id="exec-1", reason="node drained", run_attempted=True)  # type: ignore[arg-type]  # fields of an event
    ]
    assert desk.host.contents.verdicts[RunId("run-1")].gate is Gate.LEASE_RETURNED


def test_a_returned_lease_beyond_the_limit_ends_the_job() -> None:
    desk = Desk(job_of(run_of(1)), rules_of(attempt_limit=1))
    desk.report(report_of(ReportKind.RETURNED, message='pods "armada-job-a-0" already exists'))
    assert desk.told() == ["lease_returned", "failed(final)"]
    event = desk.host.contents.events[-1]
    assert isinstance(event, JobFailed)
    assert event.reason.endswith('Final run error:\npods "armada-job-a-0" already exists')
    assert (event.failure_category, event.failure_subcategory) == ("internal", "max-runs-exceeded")


def test_a_returned_lease_that_never_had_a_pod_counts_for_nothing() -> None:
    desk = Desk(job_of(LEASED), rules_of(attempt_limit=1))
    desk.report(report_of(ReportKind.RETURNED, attempted=False, node="", node_label=""))
    assert (desk.now().state, desk.now().runs[0].attempted) == (JobState.QUEUED, False)


def test_a_kill_that_nobody_remembers_is_a_lease_returned_untried() -> None:
    desk = Desk(job_of(run_of(1)), rules_of(attempt_limit=1))
    desk.report(report_of(ReportKind.KILLED))
    assert (desk.now().state, desk.told()) == (JobState.QUEUED, ["lease_returned"])
    error = desk.now().runs[0].error
    assert error is not None
    assert (error.kind, error.message) == (
        ErrorKind.POD_LEASE_RETURNED,
        "ended on the word of an earlier scheduler",
    )


@pytest.mark.parametrize("kind", [ReportKind.FAILED, ReportKind.RETURNED, ReportKind.KILLED])
def test_a_cancellation_comes_before_any_verdict(kind: ReportKind) -> None:
    desk = Desk(job_of(run_of(1), cancel_requested=True))
    desk.report(report_of(kind))
    assert desk.now().state is JobState.CANCELLED
    assert desk.told()[-1] == "cancelled"
    assert desk.host.contents.verdicts == {}


ENDED = [
    (run_of(1, RunState.FAILED), JobState.QUEUED),
    (run_of(1, RunState.FAILED), JobState.FAILED),
    (run_of(1, RunState.SUCCEEDED), JobState.SUCCEEDED),
    (run_of(1, RunState.CANCELLED), JobState.CANCELLED),
]


@pytest.mark.parametrize(("run", "state"), ENDED)
@pytest.mark.parametrize("kind", [ReportKind.RUNNING, ReportKind.SUCCEEDED, ReportKind.FAILED, ReportKind.RETURNED])
def test_a_report_about_a_run_that_is_over_is_recorded_and_changes_nothing(
    run: object, state: JobState, kind: ReportKind
) -> None:
    desk = Desk(job_of(run, state=state))  # type: ignore[arg-type]  # a run
    before = desk.now()
    outcome = desk.report(report_of(kind))
    assert (desk.now(), desk.told(), outcome.requeued) == (before, [], ())
    (late,) = desk.host.contents.late
    assert (late.run_id, late.kind) == ("run-1", kind.value)
    assert desk.host.contents.marks == {(EXECUTOR, "journal-1"): 1}


def test_a_kill_of_a_fenced_run_is_what_was_asked_for() -> None:
    desk = Desk(job_of(run_of(1, RunState.FAILED), run_of(2)))
    desk.report(report_of(ReportKind.KILLED))
    assert (desk.now().state, desk.host.contents.late) == (JobState.LEASED, [])


def test_a_report_about_an_earlier_run_does_not_touch_the_current_one() -> None:
    desk = Desk(job_of(run_of(1, RunState.FAILED), run_of(2)))
    desk.report(report_of(ReportKind.SUCCEEDED))
    assert desk.now() == job_of(run_of(1, RunState.FAILED), run_of(2))


def late_of(report: Report, executor: ExecutorId = EXECUTOR) -> LateReported:
    desk = Desk(job_of(run_of(1)))
    desk.report(report, executor=executor)
    assert desk.now() == job_of(run_of(1))
    (late,) = desk.host.contents.late
    return late


def test_nobody_speaks_for_another_executors_run() -> None:
    late = late_of(report_of(ReportKind.FAILED), ExecutorId("exec-2"))
    assert (late.executor, late.why) == ("exec-2", "the run is another executor's")


def test_a_run_of_another_job_is_not_believed() -> None:
    assert late_of(report_of(ReportKind.FAILED, job="job-b")).why == "the run belongs to another job"


def test_a_run_of_an_unknown_job_is_recorded() -> None:
    assert late_of(report_of(ReportKind.FAILED, run="run-9", job="job-b")).why == "its job is unknown"


def test_a_category_that_no_store_holds_becomes_a_bad_report() -> None:
    desk = Desk(job_of(run_of(1)))
    outcome = desk.report(report_of(ReportKind.FAILED, category="é" * 32))
    assert outcome.skipped == ((1, "name-too-long"),)
    (event,) = desk.host.contents.events
    assert isinstance(event, JobFailed)
    assert (event.failure_category, event.failure_subcategory) == ("internal", "bad-report")
    assert "more than 63 bytes" in event.reason

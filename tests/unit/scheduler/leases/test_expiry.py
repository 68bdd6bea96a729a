"""The runs of a lost executor: Armada's rows on expiry, and what becomes of holds and claims."""

from refloat_common.core.ids import ExecutorId, PodUid, RunId
from refloat_common.core.taxonomy import ANNOTATION_FAIL_FAST, ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_scheduler.core.effects import (
    ClaimDropped,
    EventsAppended,
    HoldReleased,
    JobEnded,
    JobRequeued,
    RunChanged,
    VerdictStored,
)
from refloat_scheduler.core.events import JobFailed, JobLeaseExpired
from refloat_scheduler.core.leases.expiry import drop_claims, expire, expire_page, release_holds
from refloat_scheduler.core.model import Claim, ErrorKind, Job, JobState, MutationRecord, RunError, RunState
from refloat_scheduler.core.reconcile.world import Outcome, Rules
from refloat_scheduler.core.signals import Metric, Sample
from testkit.scheduling.desk import Desk
from testkit.scheduling.makers import EXECUTOR, JOB, NOW_MS, job_of, policy_of, rule, rules_of, run_of

RETRY_EXPIRY = rules_of(policy_of(rule("Retry", "internal", "lease-expired", avoid=True, factor=2)))
COMMON = {"job_id": JOB, "job_set_id": "set-a", "queue": "queue-a", "created_ms": NOW_MS, "run_id": RunId("run-1")}
EXPIRED = RunError(kind=ErrorKind.LEASE_EXPIRED, category="internal", subcategory="lease-expired")


def expired(rules: Rules, job: Job | None = None) -> Desk:
    desk = Desk(job or job_of(run_of(1)), rules)
    desk.expire()
    return desk


def test_12_a_matching_rule_queues_the_job_again_as_it_is() -> None:
    job = job_of(run_of(1))
    after, outcome = expire(job, job.runs[0], RETRY_EXPIRY)
    run = run_of(1, RunState.FAILED, error=EXPIRED, ended_at_ms=NOW_MS)
    assert after == job_of(run, state=JobState.QUEUED, queued_version=3)
    stored = [effect for effect in outcome.effects if isinstance(effect, VerdictStored)]
    assert outcome.effects == (
        RunChanged(run),
        *stored,
        EventsAppended(
            (
                JobLeaseExpired(**COMMON),  # type: ignore[arg-type]  # fields of an event
                JobFailed(
                    **COMMON,  # type: ignore[arg-type]  # fields of an event
                    reason="Lease expired",
                    failure_category="internal",
                    failure_subcategory="lease-expired",
                    retryable=True,
                ),
            )
        ),
        JobRequeued(job_id=JOB, queued_version=3, record=MutationRecord(), requirements=job.requirements),
    )
    assert outcome.samples == (
        Sample(
            Metric.DECISIONS,
            (("queue", "queue-a"), ("pool", "default"), ("policy", "p"), ("decision", "retry")),
        ),
        Sample(Metric.LEASES_EXPIRED, (("executor", "exec-1"),)),
    )
    assert (outcome.requeued, outcome.room) == (("queue-a",), ())


def test_13_a_policy_that_declines_tells_only_the_failure() -> None:
    desk = expired(rules_of(policy_of()))
    assert (desk.now().state, desk.told()) == (JobState.FAILED, ["failed(final)"])
    (event,) = desk.host.contents.events
    assert isinstance(event, JobFailed)
    assert event.reason == "Lease expired and not retried by policy: no rule matched, using default action"
    assert (event.failure_category, event.failure_subcategory) == ("internal", "lease-expired")


def test_22_fail_fast_ends_the_job() -> None:
    desk = expired(RETRY_EXPIRY, job_of(run_of(1), annotations={ANNOTATION_FAIL_FAST: "true"}))
    assert (desk.now().state, desk.told()) == (JobState.FAILED, ["lease_expired", "failed(final)"])


def test_25_with_the_flag_off_an_expired_lease_is_final() -> None:
    desk = expired(rules_of(enabled=False))
    assert (desk.now().state, desk.told()) == (JobState.FAILED, ["lease_expired", "failed(final)"])
    event = desk.host.contents.events[-1]
    assert isinstance(event, JobFailed)
    assert event.reason == "Lease expired"


def test_26_with_the_flag_off_policies_are_not_looked_at() -> None:
    everything = policy_of(default="Retry")
    desk = expired(rules_of(everything, enabled=False, default_policy="p"))
    assert desk.now().state is JobState.FAILED


def test_a_gang_is_counted_and_ended() -> None:
    gang = {ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "2"}
    job = job_of(run_of(1), annotations=gang)
    after, outcome = expire(job, job.runs[0], RETRY_EXPIRY)
    assert after.state is JobState.FAILED
    assert outcome.samples[0] == Sample(Metric.GANG_SKIPPED, (("policy", "p"),))


def test_an_expiry_uses_up_budget_like_any_failure() -> None:
    desk = Desk(job_of(run_of(1, RunState.FAILED), run_of(2)), rules_of(policy_of(limit=1, default="Retry")))
    desk.expire()
    assert desk.now().state is JobState.FAILED
    assert desk.host.contents.verdicts[RunId("run-2")].reason == "policy retry limit exceeded (1/1)"


def test_a_lease_that_had_not_arrived_was_not_attempted() -> None:
    for acknowledged in (True, False):
        run = run_of(1, RunState.LEASED, acknowledged=acknowledged, attempted=False)
        desk = Desk(job_of(run), RETRY_EXPIRY)
        desk.expire()
        assert desk.now().runs[0].attempted is acknowledged


def test_a_cancellation_is_carried_out() -> None:
    desk = expired(RETRY_EXPIRY, job_of(run_of(1), cancel_requested=True))
    assert (desk.now().state, desk.told()) == (JobState.CANCELLED, ["cancelled"])


def test_a_job_whose_run_has_ended_is_left_alone() -> None:
    over = job_of(run_of(1, RunState.SUCCEEDED), state=JobState.SUCCEEDED)
    assert expire_page([over], RETRY_EXPIRY) == Outcome()


def test_a_page_expires_each_of_its_jobs_once() -> None:
    outcome = expire_page([job_of(run_of(1)), job_of(run_of(1), state=JobState.QUEUED)], rules_of())
    assert [type(effect) for effect in outcome.effects].count(JobEnded) == 1


def test_retries_held_for_a_lost_executors_pods_are_let_go() -> None:
    held = job_of(run_of(1, RunState.FAILED), state=JobState.QUEUED, hold_for_uid=PodUid("uid-1"))
    free = job_of(run_of(1, RunState.FAILED), state=JobState.QUEUED)
    assert release_holds([held, free]) == Outcome((HoldReleased(JOB),), requeued=("queue-a",))


def test_claims_of_a_lost_executor_are_forgotten() -> None:
    claim = Claim(RunId("run-old"), JOB, ExecutorId(EXECUTOR))
    assert drop_claims([claim]) == Outcome((ClaimDropped(RunId("run-old")),))

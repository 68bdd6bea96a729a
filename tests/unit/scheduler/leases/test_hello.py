"""Verdicts over what an executor lists, epochs, leases that arrived, runs that are missing."""

from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId, JournalId, PodUid, RunId
from refloat_common.core.messages import Hello, RunStatus, RunVerdict, Verdict
from refloat_scheduler.core.effects import ExecutorRecord, RunChanged
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.core.leases.hello import acknowledged, greeted_record, next_epoch, store_went_back
from refloat_scheduler.core.leases.missing import Unlisted, end_missing, unlisted
from refloat_scheduler.core.model import Claim, Job, JobState, RunState
from refloat_scheduler.core.reconcile.world import Outcome
from refloat_scheduler.core.signals import Level
from testkit.scheduling.desk import RETRY_OOM, Desk, entry_of
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, policy_of, rule, rules_of, run_of

LEASED = run_of(1, RunState.LEASED, acknowledged=False, attempted=False)


def verdict_over(job: Job, run: str = "run-1", status: RunStatus = RunStatus.ACTIVE, of: str = JOB) -> tuple[str, Desk]:
    desk = Desk(job)
    judged = desk.list_runs(entry_of(run, status, of))
    (verdict,) = judged.verdicts
    assert verdict.run == run
    return verdict.verdict.value, desk


def test_a_current_run_is_kept() -> None:
    verdict, desk = verdict_over(job_of(run_of(1)))
    assert (verdict, desk.now()) == ("KEEP", job_of(run_of(1)))


def test_a_listed_lease_has_arrived() -> None:
    verdict, desk = verdict_over(job_of(LEASED), status=RunStatus.ACCEPTED)
    assert (verdict, desk.now()) == ("KEEP", job_of(replace(LEASED, acknowledged=True)))


@pytest.mark.parametrize(
    "job",
    [
        job_of(run_of(1, RunState.FAILED), state=JobState.QUEUED),
        job_of(run_of(1, RunState.FAILED), run_of(2)),
        job_of(run_of(1, RunState.CANCELLED), state=JobState.CANCELLED),
        job_of(replace(run_of(1), executor=ExecutorId("exec-2"))),
    ],
)
def test_a_run_that_is_over_or_elsewhere_is_killed(job: Job) -> None:
    verdict, desk = verdict_over(job)
    assert (verdict, desk.now(), desk.told()) == ("KILL", job, [])


def test_a_run_that_has_ended_there_too_needs_no_kill() -> None:
    assert verdict_over(job_of(run_of(1, RunState.FAILED), state=JobState.QUEUED), status=RunStatus.ENDED)[0] == "KEEP"


@pytest.mark.parametrize("status", list(RunStatus))
def test_a_queued_job_is_adopted_by_a_run_that_the_store_has_forgotten(status: RunStatus) -> None:
    verdict, desk = verdict_over(job_of(run_of(1, RunState.FAILED), state=JobState.QUEUED), "run-old", status)
    job = desk.now()
    assert (verdict, job.state, job.current_run) == ("KEEP", JobState.LEASED, job.runs[-1])
    assert (job.runs[-1].run_id, job.runs[-1].ordinal, job.runs[-1].pod_uid) == ("run-old", 2, PodUid("uid-run-old"))
    assert (job.runs[-1].acknowledged, job.runs[-1].attempted, desk.told()) == (True, True, ["leased"])


def test_a_forgotten_run_of_a_job_that_is_over_is_killed() -> None:
    assert verdict_over(job_of(run_of(1, RunState.SUCCEEDED), state=JobState.SUCCEEDED), "run-old")[0] == "KILL"


def test_a_forgotten_run_of_a_leased_job_is_kept_as_a_claim() -> None:
    verdict, desk = verdict_over(job_of(run_of(1)), "run-old")
    claim = Claim(RunId("run-old"), JOB, EXECUTOR, PodUid("uid-run-old"))
    assert (verdict, desk.now()) == ("UNKNOWN", job_of(run_of(1), claims=(claim,)))


def test_a_forgotten_run_of_a_forgotten_job_is_kept_as_a_claim() -> None:
    verdict, desk = verdict_over(job_of(run_of(1)), "run-old", of="job-old")
    assert (verdict, list(desk.host.contents.claims)) == ("UNKNOWN", ["run-old"])


def test_a_claim_that_is_listed_no_more_is_dropped() -> None:
    desk = Desk(job_of(run_of(1)))
    desk.list_runs(entry_of("run-1"), entry_of("run-old"))
    desk.list_runs(entry_of("run-1"))
    assert (desk.now().claims, desk.host.contents.claims) == ((), {})


def test_listing_the_same_again_changes_nothing() -> None:
    desk = Desk(job_of(state=JobState.QUEUED))
    desk.list_runs(entry_of("run-old"))
    before = desk.host.contents
    judged = desk.list_runs(entry_of("run-old"))
    assert (judged.verdicts[0].verdict, judged.outcome) == (Verdict.KEEP, Outcome())
    assert desk.host.contents == before


def test_two_forgotten_runs_of_one_job() -> None:
    desk = Desk(job_of(state=JobState.QUEUED))
    judged = desk.list_runs(entry_of("run-x"), entry_of("run-y"))
    assert [verdict.verdict for verdict in judged.verdicts] == [Verdict.KEEP, Verdict.UNKNOWN]
    assert [claim.run_id for claim in desk.now().claims] == ["run-y"]


def test_epochs_rise_above_both_sides() -> None:
    assert next_epoch(None, 0) == 1
    assert next_epoch(ExecutorRecord(executor=EXECUTOR, last_epoch=7), 3) == 8
    assert next_epoch(ExecutorRecord(executor=EXECUTOR, last_epoch=3), 7) == 8


HELLO = Hello(
    executor="exec-1",
    boot="b",
    journal="journal-2",
    versions=(1, 1),
    last_epoch=9,
    next_seq=6,
    acked_seq=5,
    capabilities=["z", "delete_action"],
    node_id_label="zone",
    pool="gpu",
)


def test_what_is_stored_of_a_hello() -> None:
    old = ExecutorRecord(executor=EXECUTOR, last_epoch=4, cordoned=True, runs_expired_at_ms=5)
    assert greeted_record(old, HELLO, 77) == ExecutorRecord(
        executor=EXECUTOR,
        last_epoch=10,
        pool="gpu",
        journal=JournalId("journal-2"),
        capabilities=("delete_action", "z"),
        node_id_label="zone",
        cordoned=True,
        last_seen_at_ms=77,
    )


@pytest.mark.parametrize(
    ("epoch", "have", "back"), [(9, 5, False), (10, 6, False), (8, 5, True), (9, 4, True), (None, 5, True)]
)
def test_a_store_that_has_gone_back_is_noticed(epoch: int | None, have: int, *, back: bool) -> None:
    record = None if epoch is None else ExecutorRecord(executor=EXECUTOR, last_epoch=epoch)
    note = store_went_back(record, HELLO, have)
    assert (note is not None) is back
    if note:
        assert note.level is Level.ALERT
        assert note.text == (
            "the store has gone back: executor exec-1 was told of report 5 and epoch 9, "
            f"the store knows {have} and {epoch or 0}"
        )


def test_newly_listed_runs_of_a_heartbeat() -> None:
    jobs = {
        RunId("run-1"): job_of(LEASED),
        RunId("run-2"): job_of(run_of(1, RunState.FAILED), run_of(2, RunState.CANCELLED), state=JobState.CANCELLED),
        RunId("run-3"): job_of(run_of(3)),
    }
    found = acknowledged([RunId(f"run-{i}") for i in range(5)], EXECUTOR, jobs)
    assert found.verdicts == (RunVerdict(run="run-2", verdict=Verdict.KILL),)
    assert found.kills == ("run-2",)
    assert found.outcome == Outcome((RunChanged(replace(LEASED, acknowledged=True)),))


def test_unlisted_leases_are_offered_again_and_unlisted_runs_are_missing() -> None:
    jobs = [
        job_of(LEASED),
        job_of(run_of(2, RunState.LEASED)),
        job_of(run_of(3)),
        job_of(run_of(4)),
        job_of(run_of(5, RunState.FAILED), state=JobState.QUEUED),
    ]
    found = unlisted(jobs, {RunId("run-4")})
    assert found == Unlisted((RunId("run-1"),), (RunId("run-2"), RunId("run-3")))


def test_a_missing_run_is_decided_like_a_failed_pod() -> None:
    policy = policy_of(rule("Retry", "internal", "pod-missing"))
    outcome = end_missing([job_of(run_of(1)), job_of(run_of(2))], {RunId("run-1")}, rules_of(policy))
    desk = Desk(job_of(run_of(1)))
    desk.host.run(lambda transaction: transaction.apply(outcome.effects))
    assert (desk.now().state, desk.told()) == (JobState.QUEUED, ["failed(retryable)"])
    (event,) = desk.host.contents.events
    assert isinstance(event, JobFailed)
    assert (event.reason, event.failure_subcategory) == ("Pod is unexpectedly missing in Kubernetes", "pod-missing")
    assert outcome.requeued == ("queue-a",)


def test_a_missing_run_under_a_policy_that_says_nothing_of_it() -> None:
    outcome = end_missing([job_of(run_of(1))], {RunId("run-1")}, rules_of(RETRY_OOM))
    assert outcome.requeued == ()

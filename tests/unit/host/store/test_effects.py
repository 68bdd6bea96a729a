"""Each effect, stored and read back; and what stands when two effects of one list meet."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from sqlalchemy import select

from refloat_common.core.ids import ExecutorId, JobId, JournalId, PodUid, RunId
from refloat_common.core.messages import NodeFacts, TaintFact
from refloat_host.adapters.store.database import Database, Raised
from refloat_host.adapters.store.queries.stream import job_set_events
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.tables import late_reports, verdicts
from refloat_scheduler.core.effects import (
    ClaimDropped,
    ClaimStored,
    Effect,
    EventsAppended,
    ExecutorRecord,
    ExecutorSaved,
    HighWaterMoved,
    HoldReleased,
    JobEnded,
    JobRequeued,
    LateReported,
    NodesSaved,
    RunAdopted,
    RunChanged,
    VerdictStored,
)
from refloat_scheduler.core.explanation import Explanation, Gate
from refloat_scheduler.core.model import (
    Claim,
    ContainerResult,
    ErrorKind,
    Job,
    JobState,
    MutationRecord,
    Requirements,
    RunError,
    RunState,
)
from testkit.host.values import EXECUTOR, applied, done, job, leased, queued, run, stored

HOSTILE = "nul \0 quote ' \u202e bidi \N{SKULL}"


def read(database: Database, job_id: str) -> Job:
    return database.read(lambda tx: tx.jobs([JobId(job_id)]))[JobId(job_id)]


def test_a_job_comes_back_as_it_was_stored(database: Database) -> None:
    made = replace(
        job(1, priority=4, submitted_at_ms=77),
        owner="anna",
        namespace="night",
        labels={"a": "b"},
        annotations={"note": HOSTILE},
        requirements=Requirements(requests={"memory": "1Gi"}, node_selector={"zone": "z1"}),
        record=MutationRecord(memory_factor=1.5, version=1),
    )
    stored(database, [made])
    assert read(database, "job-001") == made


def test_a_lease_makes_the_job_leased_by_its_run(database: Database) -> None:
    stored(database, [job(1)])
    applied(database, leased(job(1), 1))
    after = read(database, "job-001")
    wanted = replace(run(1, job(1)), leased_at_ms=5)
    assert after == replace(job(1), state=JobState.LEASED, queued_version=1, runs=(wanted,))
    assert after.current_run == wanted


def test_a_failed_run_and_a_requeue_with_everything_that_can_change(database: Database) -> None:
    stored(database, [job(1)])
    applied(database, leased(job(1), 1))
    error = RunError(
        kind=ErrorKind.POD_ERROR,
        category="oom",
        message="a\0b " + HOSTILE,
        containers=(ContainerResult("main", 137, "OOMKilled", HOSTILE, "OOM"),),
        uid="u1",
    )
    failed = replace(
        run(1, job(1)),
        state=RunState.FAILED,
        node="n1",
        node_label="n1-label",
        pod_uid=PodUid("u1"),
        acknowledged=True,
        attempted=True,
        error=error,
        running_at_ms=6,
        ended_at_ms=9,
    )
    requeued = JobRequeued(
        job_id=JobId("job-001"),
        queued_version=2,
        record=MutationRecord(avoid=("n1-label",), version=1),
        requirements=Requirements(requests={"cpu": "2"}),
        hold_for_uid=PodUid("u1"),
    )
    applied(database, [RunChanged(failed), requeued])
    after = read(database, "job-001")
    assert after == replace(
        job(1),
        queued_version=2,
        runs=(failed,),
        record=requeued.record,
        requirements=requeued.requirements,
        hold_for_uid=PodUid("u1"),
    )
    assert not after.leasable
    applied(database, [HoldReleased(JobId("job-001"))])
    assert read(database, "job-001").leasable


def test_runs_stand_in_order_of_their_ordinals(database: Database) -> None:
    stored(database, [job(1)])
    applied(database, [RunChanged(run(9, job(1), ordinal=1)), RunChanged(run(2, job(1), ordinal=2))])
    assert [each.run_id for each in read(database, "job-001").runs] == ["run-009", "run-002"]


def test_a_second_run_of_one_ordinal_is_refused(database: Database) -> None:
    stored(database, [job(1)])
    applied(database, leased(job(1), 1))
    [outcome], _ = database.execute([lambda tx: tx.apply(leased(job(1), 2))])
    assert isinstance(outcome, Raised)
    assert [each.run_id for each in read(database, "job-001").runs] == ["run-001"]


@pytest.mark.parametrize("state", [state for state in JobState if state.ended])
def test_an_ended_job_holds_nothing(database: Database, state: JobState) -> None:
    stored(database, [replace(job(1), hold_for_uid=PodUid("u"))])
    applied(database, [JobEnded(JobId("job-001"), state, 12)])
    assert read(database, "job-001") == replace(job(1), state=state, ended_at_ms=12)


def test_of_two_effects_on_one_row_the_later_stands(database: Database) -> None:
    stored(database, [job(1)])
    first = run(1, job(1))
    later = replace(first, state=RunState.RUNNING, node="n2")
    effects: list[Effect] = [
        RunAdopted(first, 1),
        RunChanged(later),
        HighWaterMoved(EXECUTOR, JournalId("j"), 3),
        HighWaterMoved(EXECUTOR, JournalId("j"), 4),
        ClaimStored(Claim(RunId("c"), JobId("job-001"), EXECUTOR)),
        ClaimDropped(RunId("c")),
    ]
    applied(database, effects)
    assert read(database, "job-001") == replace(job(1), state=JobState.LEASED, queued_version=1, runs=(later,))
    assert database.read(lambda tx: tx.high_water(EXECUTOR, JournalId("j"))) == 4


def test_a_claim_keeps_its_job_from_being_leased_until_it_is_dropped(database: Database) -> None:
    claim = Claim(RunId("c1"), JobId("job-001"), EXECUTOR, PodUid("u"))
    stored(database, [job(1)])
    applied(database, [ClaimStored(claim), ClaimStored(Claim(RunId("c2"), JobId("unknown"), EXECUTOR))])
    after = read(database, "job-001")
    assert after.claims == (claim,)
    assert not after.leasable
    assert [each.run_id for each in database.read(lambda tx: tx.claims(EXECUTOR))] == ["c1", "c2"]
    applied(database, [ClaimDropped(RunId("c1"))])
    assert read(database, "job-001").leasable
    assert [each.run_id for each in database.read(lambda tx: tx.claims(EXECUTOR))] == ["c2"]
    assert database.read(lambda tx: tx.claims(ExecutorId("west"))) == []


def test_a_verdict_is_kept_with_its_explanation_and_never_twice(database: Database) -> None:
    explanation = Explanation(
        run_id=RunId("run-001"),
        job_id=JobId("job-001"),
        retry=True,
        gate=Gate.PASSED,
        decision="retry",
        category=HOSTILE,
        decided_at_ms=8,
    )
    applied(database, [VerdictStored(explanation)])
    row = database.read(lambda tx: tx.connection.execute(select(verdicts)).one())
    assert (row.run_id, row.job_id, row.decision, row.decided_at_ms) == ("run-001", "job-001", "retry", 8)
    [outcome], _ = database.execute([lambda tx: tx.apply([VerdictStored(replace(explanation, retry=False))])])
    assert isinstance(outcome, Raised)
    assert database.read(lambda tx: tx.connection.execute(select(verdicts)).one()) == row


def test_events_keep_their_order_and_rise_over_all_streams(database: Database) -> None:
    first, second, third = job(1), job(2, job_set="other"), job(3)
    applied(database, [EventsAppended((queued(first), queued(second))), EventsAppended((queued(third),))])
    here = database.read(lambda tx: job_set_events(tx.connection, "q", "s", 0, 10))
    there = database.read(lambda tx: job_set_events(tx.connection, "q", "other", 0, 10))
    assert [message.event for message in here] == [queued(first), queued(third)]
    assert [message.event for message in there] == [queued(second)]
    assert here[0].message_id < there[0].message_id < here[1].message_id
    behind = database.read(lambda tx: job_set_events(tx.connection, "q", "s", here[0].message_id, 10))
    assert behind == here[1:]


def test_a_late_report_is_recorded_and_changes_nothing(database: Database) -> None:
    late = LateReported(
        run_id=RunId("run-001"),
        job_id=JobId("job-001"),
        executor=EXECUTOR,
        kind="succeeded",
        why="the run was expired",
        reported_at_ms=3,
    )
    applied(database, [late, late])
    rows = database.read(lambda tx: tx.connection.execute(select(late_reports.c.kind, late_reports.c.why)).all())
    assert [tuple(row) for row in rows] == [("succeeded", "the run was expired")] * 2


def test_executors_come_back_whole_and_in_order_of_name(database: Database) -> None:
    east = ExecutorRecord(
        executor=EXECUTOR,
        last_epoch=7,
        pool="gpu",
        journal=JournalId("j1"),
        capabilities=("delete_action",),
        node_id_label="kubernetes.io/hostname",
        cordoned=True,
        decommissioned=True,
        last_seen_at_ms=5,
        runs_expired_at_ms=6,
    )
    applied(database, [ExecutorSaved(east), ExecutorSaved(ExecutorRecord(executor=ExecutorId("Zürich")))])
    applied(database, [ExecutorSaved(ExecutorRecord(executor=ExecutorId("a-west")))])
    names = [record.executor for record in database.read(lambda tx: tx.executor_records())]
    assert names == ["Zürich", "a-west", "east"]
    assert database.read(lambda tx: tx.executor_record(EXECUTOR)) == east


def test_nodes_are_added_removed_and_replaced(database: Database) -> None:
    taint = TaintFact(key="gpu", effect="NoSchedule")
    big = NodeFacts(name="big", labels={"zone": "a"}, allocatable={"cpu": "8"}, taints=[taint], unschedulable=True)
    small, new = NodeFacts(name="small"), NodeFacts(name="new")

    def nodes() -> list[NodeFacts]:
        return list(database.read(lambda tx: tx.nodes(EXECUTOR)))

    applied(database, [NodesSaved(executor=EXECUTOR, upserted=(small, big))])
    applied(database, [NodesSaved(executor=ExecutorId("west"), upserted=(small,), full=True)])
    assert nodes() == [big, small]
    changed = NodeFacts(name="small", allocatable={"cpu": "1"})
    applied(database, [NodesSaved(executor=EXECUTOR, upserted=(changed,), removed=("big", "never"))])
    assert nodes() == [changed]
    effects: list[Effect] = [
        NodesSaved(executor=EXECUTOR, upserted=(big,)),
        NodesSaved(executor=EXECUTOR, upserted=(new,), full=True),
    ]
    _, changes = database.execute([lambda tx: tx.apply(effects)])
    assert nodes() == [new]
    assert list(changes.nodes) == [EXECUTOR]
    assert list(database.read(lambda tx: tx.nodes(ExecutorId("west")))) == [small]


def test_active_jobs_come_in_pages_and_only_current_ones(database: Database) -> None:
    jobs = [job(number) for number in range(1, 8)]
    stored(database, jobs)
    for number, each in enumerate(jobs[:5], start=1):
        applied(database, leased(each, 10 - number))
    applied(database, leased(jobs[5], 20, ExecutorId("west")))
    ended = replace(run(7, jobs[2]), state=RunState.SUCCEEDED)
    applied(database, [RunChanged(ended), JobEnded(jobs[2].job_id, JobState.SUCCEEDED, 9)])

    def page(after: str) -> list[str]:
        found = database.read(lambda tx: tx.active_jobs(EXECUTOR, RunId(after), 2))
        return [each.latest_run.run_id for each in found if each.latest_run]

    assert page("") == ["run-005", "run-006"]
    assert page("run-006") == ["run-008", "run-009"]
    assert page("run-009") == []
    assert database.read(lambda tx: tx.active_counts()) == {EXECUTOR: 4, ExecutorId("west"): 1}


def test_held_jobs_are_those_whose_last_run_was_there(database: Database) -> None:
    jobs = [job(number) for number in range(1, 5)]
    stored(database, jobs)
    west = ExecutorId("west")
    for number, each in enumerate(jobs, start=1):
        applied(database, leased(each, number, west if number == 2 else EXECUTOR))
    held = [
        JobRequeued(
            job_id=each.job_id,
            queued_version=2,
            record=MutationRecord(),
            requirements=Requirements(),
            hold_for_uid=PodUid("u") if number != 3 else PodUid(""),
        )
        for number, each in enumerate(jobs, start=1)
    ]
    applied(database, held)

    def page(executor: ExecutorId, after: str, limit: int) -> list[str]:
        return [each.job_id for each in database.read(lambda tx: tx.held_jobs(executor, JobId(after), limit))]

    assert page(EXECUTOR, "", 10) == ["job-001", "job-004"]
    assert page(EXECUTOR, "", 1) == ["job-001"]
    assert page(EXECUTOR, "job-001", 10) == ["job-004"]
    assert page(west, "", 10) == ["job-002"]


def test_a_read_after_apply_sees_what_was_applied(database: Database) -> None:
    stored(database, [job(1)])

    def work(tx: SqlTransaction) -> Mapping[RunId, Job]:
        tx.apply(leased(job(1), 1))
        return tx.jobs_of_runs([RunId("run-001"), RunId("none")])

    found = done(database, work)
    assert {run_id: each.state for run_id, each in found.items()} == {"run-001": JobState.LEASED}

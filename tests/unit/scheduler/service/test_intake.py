"""Reports: committed once, acknowledged after that and not before, kept by their executor while the store is down."""

import anyio

from refloat_common.core.ids import JobId, JournalId
from refloat_common.core.messages import Ack, Nack, Refused, ReportKind
from refloat_scheduler.core.model import JobState
from refloat_scheduler.service.contract import JobsRequeued, PolicyDocument, RoomChanged
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import Play, PlayedExecutor, play

JOURNAL = JournalId("journal-1")
POLICY = PolicyDocument(
    "p", {"retryLimit": 3, "defaultAction": "Fail", "rules": [{"action": "Retry", "onCategory": "oom"}]}
)


async def begun(p: Play) -> PlayedExecutor:
    """A job of queue-a runs on exec-1, which has a session."""
    p.host.contents.jobs[JOB] = job_of(run_of(1))
    p.host.contents.queues["queue-a"] = ("p",)
    p.host.policies.append(POLICY)
    await p.start()
    east = p.executor()
    await east.hello(entry_of("run-1"))
    await anyio.sleep(1)
    return east


def test_a_failure_is_decided_stored_acknowledged_and_told() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        ack = await east.acknowledged(report_of(ReportKind.FAILED))
        assert ack.model_dump() == {"epoch": 1, "journal": "journal-1", "have": 1, "credits": 1024}
        job = p.host.contents.jobs[JOB]
        assert (job.state, job.queued_version) == (JobState.QUEUED, 3)
        assert [verdict.decision for verdict in p.host.contents.verdicts.values()] == ["retry"]
        assert p.host.contents.marks[EXECUTOR, JOURNAL] == 1
        assert p.host.notices[-2:] == [JobsRequeued(("queue-a",)), RoomChanged(EXECUTOR)]
        labels = {"queue": "queue-a", "pool": "default", "policy": "p", "decision": "retry"}
        assert p.metric("armada_scheduler_retry_policy_decisions_total", **labels) == 1
        assert p.passed == ["host.received", "host.commit_before_ack"]

    play(scenario)


def test_no_acknowledgement_leaves_before_its_commit() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        p.host.before_s = p.host.after_s = 2.0
        await east.acknowledged(report_of(ReportKind.FAILED))
        [acked] = [sent for sent in p.wire.sent if isinstance(sent.message, Ack)]
        assert acked.at_s >= p.host.commits[-1] + 2.0

    play(scenario)


def test_what_comes_during_a_commit_is_in_the_next_one() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        other = p.executor("exec-2")
        await other.hello()
        p.host.before_s = 1.0
        commits = len(p.host.commits)
        for _ in range(3):
            east.report(report_of(ReportKind.RUNNING))
        other.report(report_of(ReportKind.RUNNING, "run-7"))
        await east.hears(Ack, lambda ack: ack.have == 3)
        await other.hears(Ack, lambda ack: ack.have == 1)
        assert len(p.host.commits) - commits == 2

    play(scenario)


def test_a_transaction_takes_500_reports_at_most() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        commits = len(p.host.commits)
        for _ in range(5):
            east.report(*[report_of(ReportKind.RUNNING)] * 200)
        await east.hears(Ack, lambda ack: ack.have == 1000)
        assert len(p.host.commits) - commits == 3
        assert [ack.have for ack in east.heard(Ack)] == [200, 400, 600, 800, 1000]

    play(scenario)


def test_a_repeated_batch_is_acknowledged_and_changes_nothing() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        await east.acknowledged(report_of(ReportKind.FAILED))
        before, events = p.host.contents.jobs[JOB], list(p.host.contents.events)
        east.report(report_of(ReportKind.FAILED), first_seq=1)
        await east.hears(Ack, lambda _: len(east.heard(Ack)) == 2)
        assert (p.host.contents.jobs[JOB], p.host.contents.events) == (before, events)

    play(scenario)


def test_while_the_store_is_down_nothing_is_acknowledged_and_it_goes_on_when_it_is_back() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        p.host.down = True
        east.report(report_of(ReportKind.FAILED))
        await east.live_on(12)
        answer = await east.answered()
        assert (answer.busy, answer.credits) == (True, 0)
        assert east.heard(Ack) == []
        assert p.host.contents.jobs[JOB].state is JobState.LEASED
        assert p.view().why_not == "the store is down"
        p.host.down = False
        await east.live_on(3, every_s=1)
        answer = await east.answered()
        assert (answer.busy, answer.credits) == (False, 1024)
        east.report(report_of(ReportKind.FAILED), first_seq=1)
        await east.hears(Ack, lambda ack: ack.have == 1)
        assert p.host.contents.jobs[JOB].state is JobState.QUEUED
        assert p.texts("error") == ["the store cannot commit now: it is down"]
        assert "the store is back" in p.texts("info")

    play(scenario)


def test_a_report_behind_a_gap_is_dropped_and_the_last_good_one_named() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        east.report(report_of(ReportKind.FAILED), first_seq=2)
        assert (await east.hears(Ack)).have == 0
        assert p.host.contents.jobs[JOB].state is JobState.LEASED

    play(scenario)


def test_what_can_never_be_applied_is_named_and_the_run_ends_all_the_same() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        await east.acknowledged(report_of(ReportKind.FAILED, category="x" * 64))
        [nack] = east.heard(Nack)
        assert (nack.seq, nack.permanent, nack.code) == (1, True, "name-too-long")
        error = p.host.contents.jobs[JOB].runs[0].error
        assert error is not None
        assert (error.category, error.subcategory) == ("internal", "bad-report")

    play(scenario)


def test_reports_beyond_the_credits_are_refused() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        east.report(report_of(ReportKind.RUNNING), first_seq=1025)
        assert (await east.hears(Refused)).code == "credits"

    play(scenario)


def test_a_late_report_is_recorded_acknowledged_and_changes_nothing() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        ended = job_of(run_of(1), state=JobState.CANCELLED)
        p.host.contents.jobs[JOB] = ended
        await east.acknowledged(report_of(ReportKind.SUCCEEDED))
        assert p.host.contents.jobs[JOB] == ended
        assert [(late.run_id, late.kind, late.why) for late in p.host.contents.late] == [
            ("run-1", "succeeded", "the run is running, its job cancelled")
        ]
        assert p.metric("refloat_late_reports_total", executor="exec-1", kind="succeeded") == 1
        assert p.host.contents.events == []

    play(scenario)


def test_a_killed_plugin_forgets_nothing_that_it_acknowledged() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        p.host.contents.jobs[JobId("job-b")] = job_of(run_of(2), job_id=JobId("job-b"))
        await east.acknowledged(report_of(ReportKind.RUNNING))
        p.host.after_s = 5.0
        east.report(report_of(ReportKind.FAILED))
        await p.until(lambda: p.host.contents.marks.get((EXECUTOR, JOURNAL)) == 2)
        assert len(east.heard(Ack)) == 1
        p.kill()
        p.host.after_s = 0.01
        await p.start()
        assert (await east.hello(entry_of("run-1"))).have == 2
        assert p.host.contents.jobs[JOB].state is JobState.QUEUED

    play(scenario)

"""What is read from a transaction before anything is decided."""

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.messages import ReportKind
from refloat_scheduler.core.effects import ExecutorRecord
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.model import JobState, Requirements, RunState
from refloat_scheduler.core.reconcile.world import Batch
from refloat_scheduler.core.retry.gates import RetrySettings
from refloat_scheduler.service.reading import rules_for, world_of_batches, world_of_entries
from testkit.scheduling.desk import JOURNAL, Desk, entry_of
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, nodes_of, policy_of, report_of, run_of

OTHER = JobId("job-b")


def stored() -> Desk:
    desk = Desk(job_of(run_of(1, RunState.FAILED), run_of(2)))
    desk.host.contents.jobs[OTHER] = job_of(state=JobState.QUEUED, job_id=OTHER, queue="queue-b")
    desk.host.contents.marks[EXECUTOR, JOURNAL] = 7
    return desk


def test_the_jobs_behind_reports() -> None:
    desk = stored()
    reports = (
        report_of(ReportKind.RUNNING, "run-2"),
        report_of(ReportKind.FAILED, "run-x", job=OTHER),
        report_of(ReportKind.FAILED, "run-y", job="job-z"),
    )
    world = desk.host.run(lambda tx: world_of_batches(tx, [Batch(EXECUTOR, JOURNAL, 8, reports)]))
    assert dict(world.jobs) == desk.host.contents.jobs
    assert dict(world.job_of_run) == {RunId("run-1"): JOB, RunId("run-2"): JOB}
    assert dict(world.high_water) == {(EXECUTOR, JOURNAL): 7}


def test_the_jobs_behind_listed_runs() -> None:
    desk = stored()
    entries = [entry_of("run-1"), entry_of("run-x", job=OTHER), entry_of("run-y", job="job-z")]
    world = desk.host.run(lambda tx: world_of_entries(tx, entries))
    assert set(world.jobs) == {JOB, OTHER}


def test_the_rules_in_force() -> None:
    desk = stored()
    old = ExecutorId("exec-old")
    desk.host.contents.executors[old] = ExecutorRecord(executor=old)
    policy, settings = policy_of(), RetrySettings(enabled=True)
    fleet = Fleet.of(nodes_of("node-1", memory="1Gi"))
    jobs = list(desk.host.contents.jobs.values())
    rules = desk.host.run(lambda tx: rules_for(tx, jobs, {"p": policy}, settings, fleet, 5, [old]))
    assert rules.queue_policies == {"queue-a": ("p",), "queue-b": None}
    assert rules.incapable == {old}
    assert (rules.policies, rules.settings, rules.now_ms) == ({"p": policy}, settings, 5)
    assert not rules.probe(Requirements(requests={"memory": "2Gi"}))


def test_a_fleet_of_which_nothing_is_known_refuses_nothing() -> None:
    desk = stored()
    rules = desk.host.run(lambda tx: rules_for(tx, [], {}, RetrySettings(), Fleet(), 5))
    assert rules.probe(Requirements(requests={"memory": "2Ti"}))

"""An executor that is killed, or loses its journal, and comes back to a cluster that went on without it."""

from pathlib import Path

import anyio
import pytest

from refloat_common.core.messages import ReportKind, RunStatus
from refloat_fakekube.cluster import FakeCluster
from testkit.executor.running import Notes, lease, running_executor, settings_for
from testkit.executor.scheduler import PlayedScheduler

pytestmark = pytest.mark.anyio


class KilledError(Exception):
    """The process dies here."""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "executor.journal"


POINTS = ["executor.classified", "executor.deleted", "executor.gone_before_report", "executor.reported"]


@pytest.mark.parametrize("point", POINTS)
async def test_a_failure_survives_a_death_at_any_point(cluster: FakeCluster, journal: Path, point: str) -> None:
    scheduler, notes, plan = PlayedScheduler(), Notes(), [point]

    def failpoint(name: str) -> None:
        if name in plan:
            plan.remove(name)
            raise KilledError(name)

    with pytest.RaisesGroup(KilledError, flatten_subgroups=True), anyio.fail_after(15):
        async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig(), notes, failpoint):
            await scheduler.until_session()
            scheduler.lease(lease("a", script={"outcome": "exit", "code": 1}))
            await anyio.sleep_forever()
    assert plan == []
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig(), notes, failpoint):
        with anyio.fail_after(15):
            failed = await scheduler.until("a", ReportKind.FAILED)
            await scheduler.until_session(2)
    assert (failed.category, failed.pod_gone) == ("app", True)
    assert [kind for kind in scheduler.kinds("a") if kind not in ("pending", "running")] == ["failed"]
    detected = {(values["category"], values["uid"]) for what, values in notes.trace if what == "pod.detect"}
    assert len(detected) == 1
    assert len([call for call in notes.calls("create") if call["result"] == "done"]) == 1


async def test_what_happened_meanwhile_is_reported(cluster: FakeCluster, journal: Path) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(
                lease("fails", script={"outcome": "exit", "code": 1, "afterMs": 400}),
                lease("lives", script={"outcome": "run"}),
            )
            for run in ("fails", "lives"):
                await scheduler.until(run, ReportKind.RUNNING)
    await anyio.sleep(0.7)
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            failed = await scheduler.until("fails", ReportKind.FAILED)
    assert (failed.category, failed.pod_gone) == ("app", True)
    assert {entry.run for entry in scheduler.hellos[-1].runs} == {"fails", "lives"}
    assert scheduler.kinds("lives") in (["pending", "running"], ["running"])


def _spoil(journal: Path) -> None:
    journal.write_bytes(b"no journal any more " * 500)


async def test_a_lost_journal_is_begun_anew_with_what_runs(cluster: FakeCluster, journal: Path) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(lease("a", script={"outcome": "exit", "code": 1, "afterMs": 1500}))
            running = await scheduler.until("a", ReportKind.RUNNING)
    _spoil(journal)
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            failed = await scheduler.until("a", ReportKind.FAILED)
    assert (failed.category, failed.pod_gone, failed.uid) == ("app", True, running.uid)
    assert len({hello.journal for hello in scheduler.hellos}) == 2
    (entry,) = scheduler.hellos[-1].runs
    assert (entry.run, entry.job, entry.status, entry.uid) == ("a", "job-a", RunStatus.ACTIVE, running.uid)
    assert journal.with_name("executor.journal.corrupt").exists()


async def test_a_lease_that_was_taken_but_not_started_starts_once(cluster: FakeCluster, journal: Path) -> None:
    scheduler, notes = PlayedScheduler(), Notes()
    with anyio.fail_after(15):
        async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig(), notes):
            await scheduler.until_session()
            scheduler.answers_beats = False
            scheduler.lease(lease("a"))
            await scheduler.until_listed("a")
    assert notes.calls("create") == []
    scheduler.answers_beats = True
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig(), notes):
        with anyio.fail_after(15):
            await scheduler.until("a", ReportKind.SUCCEEDED)
    assert len(notes.calls("create")) == 1

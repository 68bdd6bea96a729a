"""The whole executor on a fake cluster: real HTTP, a real journal, kubelets that write what real ones wrote."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Report, ReportKind
from refloat_executor.adapters.kube import KubeHttp, Source, load_credentials, open_kube
from refloat_executor.core.cluster.answers import Done
from refloat_executor.core.cluster.wire import decode_pod
from refloat_fakekube.cluster import FakeCluster
from refloat_fakekube.core.protocol.faults import Fault
from testkit.executor.running import Notes, lease, running_executor, settings_for
from testkit.executor.scheduler import PlayedScheduler

pytestmark = pytest.mark.anyio
EXIT_1: JsonObject = {"outcome": "exit", "code": 1}
EXIT_3: JsonObject = {"outcome": "exit", "code": 3}
FOREVER: JsonObject = {"outcome": "run"}


def exits_after(milliseconds: int) -> JsonObject:
    return {"outcome": "exit", "code": 1, "afterMs": milliseconds}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "executor.journal"


@pytest.fixture
async def kube(cluster: FakeCluster, tmp_path: Path) -> AsyncIterator[KubeHttp]:
    """Somebody else at the same cluster."""
    path = tmp_path / "others-kubeconfig"
    path.write_text(json.dumps(cluster.kubeconfig()))
    async with open_kube(await load_credentials(Source(str(path)))) as made:
        yield made


async def uid_of(kube: KubeHttp, job: str) -> str:
    """The uid of the job's pod; empty if there is none."""
    answer = await kube.read_pod("default", f"armada-{job}-0")
    return decode_pod(answer.body).metadata.uid if isinstance(answer, Done) else ""


def core(report: Report) -> tuple[str, str, str, bool]:
    """What a report is about."""
    return report.kind.value, report.category, report.subcategory, report.pod_gone


async def test_each_end_is_reported_with_its_category(cluster: FakeCluster, kube: KubeHttp, journal: Path) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(
                lease("ok"), lease("app", script=EXIT_1), lease("user", script=EXIT_3), lease("oom", script="oom")
            )
            done = await scheduler.until("ok", ReportKind.SUCCEEDED)
            failed = {run: await scheduler.until(run, ReportKind.FAILED) for run in ("app", "user", "oom")}
    assert {run: core(report) for run, report in failed.items()} == {
        "app": ("failed", "app", "", True),
        "user": ("failed", "user", "", False),
        "oom": ("failed", "oom", "", True),
    }
    assert (done.node, done.node_label, done.uid != "") == ("n1", "host-1", True)
    assert (failed["oom"].cause, failed["oom"].containers[0].exit_code) == ("OOM", 137)
    assert failed["oom"].message.endswith("\n\nask for more")
    assert scheduler.kinds("app") in (["pending", "running", "failed"], ["pending", "failed"])
    assert await uid_of(kube, "job-app") == ""
    assert await uid_of(kube, "job-user") == failed["user"].uid


async def test_what_is_told_of_the_nodes_and_the_capacity(cluster: FakeCluster, journal: Path) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(lease("a"))
            await scheduler.until("a", ReportKind.SUCCEEDED)
    (facts,) = [node for told in scheduler.nodes for node in told.upserted]
    assert (facts.name, facts.labels) == ("n1", {"kubernetes.io/hostname": "host-1"})
    assert scheduler.hellos[0].capabilities == ["delete_action"]
    assert scheduler.hellos[0].node_id_label == "kubernetes.io/hostname"
    assert 99 <= scheduler.free_slots <= 100


async def test_a_killed_run_is_gone_before_that_is_said(cluster: FakeCluster, kube: KubeHttp, journal: Path) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(lease("a", script=FOREVER))
            await scheduler.until("a", ReportKind.RUNNING)
            scheduler.kill("a", "nobody")
            killed = await scheduler.until("a", ReportKind.KILLED)
        assert await uid_of(kube, "job-a") == ""
    assert core(killed) == ("killed", "", "", True)


async def test_a_collision_returns_the_lease_and_clears_the_name(
    cluster: FakeCluster, kube: KubeHttp, journal: Path
) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(lease("first", "j", EXIT_3))
            first = await scheduler.until("first", ReportKind.FAILED)
            scheduler.lease(lease("second", "j"))
            returned = await scheduler.until("second", ReportKind.RETURNED)
            scheduler.lease(lease("third", "j"))
            await scheduler.until("third", ReportKind.SUCCEEDED)
        assert await uid_of(kube, "j") not in ("", first.uid)
    assert returned.message == (
        f'pods "armada-j-0" already exists (the name is held by the pod of run first, uid {first.uid})'
    )
    assert (returned.attempted, returned.category) == (True, "")


async def test_a_pod_that_somebody_deletes_is_named_so(cluster: FakeCluster, kube: KubeHttp, journal: Path) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(lease("soft", script=FOREVER), lease("hard", script=FOREVER))
            for run, grace_s in (("soft", None), ("hard", 0)):
                uid = (await scheduler.until(run, ReportKind.RUNNING)).uid
                assert isinstance(await kube.delete_pod("default", f"armada-job-{run}-0", uid, "", grace_s), Done)
            reports = [await scheduler.until(run, ReportKind.FAILED) for run in ("soft", "hard")]
    assert [core(report) for report in reports] == [("failed", "internal", "externally-deleted", True)] * 2


async def test_a_failure_that_fell_into_a_gap_of_the_watch_is_seen(cluster: FakeCluster, journal: Path) -> None:
    scheduler, notes = PlayedScheduler(), Notes()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig(), notes):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(lease("a", script=exits_after(300)))
            await scheduler.until("a", ReportKind.RUNNING)
            cluster.admin.hold()
            await anyio.sleep(0.6)
            cluster.admin.compact("pods")
            assert cluster.admin.cut_watches("expired", "pods") >= 1
            cluster.admin.release()
            failed = await scheduler.until("a", ReportKind.FAILED)
    assert core(failed) == ("failed", "app", "", True)


FAULTS = {
    "a create that got no answer but was done": Fault(kind="drop", verb="create", resource="pods", effect=True),
    "a create that failed": Fault(code=500, verb="create", resource="pods"),
    "a create that has to wait": Fault(code=429, verb="create", resource="pods", retry_after_s=1),
    "a delete that got no answer but was done": Fault(kind="drop", verb="delete", resource="pods", effect=True),
    "a delete that got no answer and was not done": Fault(kind="drop", verb="delete", resource="pods"),
    "a delete that failed twice": Fault(code=503, verb="delete", resource="pods", count=2),
    "a conflict": Fault(code=409, verb="delete", resource="pods"),
    "a read that failed": Fault(code=500, verb="get", resource="pods"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_what_goes_wrong_once_changes_nothing_in_the_end(
    cluster: FakeCluster, kube: KubeHttp, journal: Path, fault: Fault
) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            cluster.admin.fail(fault)
            scheduler.lease(lease("a", script=EXIT_1))
            failed = await scheduler.until("a", ReportKind.FAILED)
        assert core(failed) == ("failed", "app", "", True)
        assert await uid_of(kube, "job-a") == ""
    assert [kind for kind in scheduler.kinds("a") if kind not in ("pending", "running")] == ["failed"]


async def test_a_pod_that_will_not_go_is_reported_and_gone_at_last(cluster: FakeCluster, journal: Path) -> None:
    scheduler, notes = PlayedScheduler(), Notes()
    settings = settings_for(journal, stuckTerminatingPodExpiry="400ms", podKillTimeout="200ms")
    script: JsonObject = {"outcome": "exit", "code": 1, "finalizer": "example.com/hold", "holdMs": 2000}
    held = lease("a", script=script, terminationGracePeriodSeconds=0)
    async with running_executor(settings, scheduler, cluster.kubeconfig(), notes):
        with anyio.fail_after(18):
            await scheduler.until_session()
            scheduler.lease(held)
            stuck = await scheduler.until("a", ReportKind.FAILED)
            gone = await scheduler.until("a", ReportKind.GONE)
    assert core(stuck) == ("failed", "internal", "stuck-terminating", False)
    assert "could not be deleted" in stuck.message
    assert (core(gone), gone.uid) == (("gone", "", "", True), stuck.uid)


async def test_a_job_that_can_never_be_created_fails(cluster: FakeCluster, journal: Path) -> None:
    scheduler = PlayedScheduler()
    bad = replace(lease("bad"), pod_spec=b'{"containers":[]}')
    lost = replace(lease("lost"), namespace="nowhere")
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(bad, lost)
            reports = [await scheduler.until(run, ReportKind.FAILED) for run in ("bad", "lost")]
    assert [core(report)[:3] for report in reports] == [("failed", "internal", "job-creation-failed")] * 2
    assert reports[1].message == 'namespaces "nowhere" not found'


async def test_nothing_starts_without_the_schedulers_word(cluster: FakeCluster, kube: KubeHttp, journal: Path) -> None:
    scheduler = PlayedScheduler()
    scheduler.killed.add("a")
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(lease("a"))
            killed = await scheduler.until("a", ReportKind.KILLED)
        assert await uid_of(kube, "job-a") == ""
    assert (killed.attempted, killed.pod_gone) == (False, False)


async def test_reports_wait_for_a_scheduler_that_is_away(cluster: FakeCluster, journal: Path) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()):
        with anyio.fail_after(18):
            await scheduler.until_session()
            scheduler.lease(lease("a", script=exits_after(200)))
            await scheduler.until("a", ReportKind.RUNNING)
            scheduler.silent = True
            await anyio.sleep(0.6)
            assert scheduler.kinds("a")[-1] == "running"
            scheduler.silent = False
            failed = await scheduler.until("a", ReportKind.FAILED)
    assert core(failed) == ("failed", "app", "", True)


async def test_goodbye(cluster: FakeCluster, journal: Path) -> None:
    scheduler = PlayedScheduler()
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig()) as executor:
        with anyio.fail_after(15):
            await scheduler.until_session()
            scheduler.lease(lease("a"))
            await scheduler.until("a", ReportKind.SUCCEEDED)
            executor.stop()
            await scheduler.until_bye()
            assert executor.healthy()


async def test_many_failures_are_confirmed_by_few_reads(cluster: FakeCluster, journal: Path) -> None:
    scheduler, notes = PlayedScheduler(), Notes()
    runs = [f"r{n}" for n in range(90)]
    async with running_executor(settings_for(journal), scheduler, cluster.kubeconfig(), notes):
        with anyio.fail_after(19):
            await scheduler.until_session()
            scheduler.lease(*(lease(run, script=exits_after(1500)) for run in runs))
            for run in runs:
                await scheduler.until(run, ReportKind.RUNNING)
            # The executor is shown the failures together, however long they take on a busy machine.
            cluster.admin.hold()
            await anyio.sleep(2)
            cluster.admin.release()
            reports = [await scheduler.until(run, ReportKind.FAILED) for run in runs]
    assert all(report.pod_gone for report in reports)
    reads = len(notes.calls("get")) + len(notes.calls("list"))
    assert reads < len(runs), f"{reads} reads for {len(runs)} pods"

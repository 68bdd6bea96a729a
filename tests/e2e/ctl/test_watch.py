"""`watch` on a real server."""

import json
import re

import anyio
import pytest

from refloat_common.core.ids import ExecutorId, RunId
from refloat_host.core.orders import Order
from refloat_host.core.selection import Selection
from testkit.ctl.jobs import failed_once, submitted
from testkit.ctl.running import Ctl, refused

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def queue(ctl: Ctl) -> None:
    await ctl("create", "queue", "q")


async def test_a_watch_prints_each_event_until_all_jobs_are_over(ctl: Ctl) -> None:
    [job, other] = await submitted(ctl)
    await failed_once(ctl.api, job, RunId("run-1"), ExecutorId("cluster-1"))
    await ctl("cancel", "job-set", "q", "s")
    ran = await ctl("watch", "q", "s", "--exit-if-inactive")
    assert (ran.code, ran.err) == (0, "")
    first, *lines = re.sub(r"(?m)^\w{3} [ \d]\d \d\d:\d\d:\d\d", "TIME", ran.out).splitlines()
    assert first == "Watching job set s"
    at: dict[str, str] = {job: "1", other: "2"}
    first_cancelled, last_cancelled = sorted([job, other])
    shown = [line for line in lines if line.startswith("TIME")]
    assert [(at[line.split("job id: ")[1].split()[0]], line.split(" | ")[2].split(",")[0]) for line in shown] == [
        ("1", "JobSubmittedEvent"),
        ("1", "JobQueuedEvent"),
        ("2", "JobSubmittedEvent"),
        ("2", "JobQueuedEvent"),
        ("1", "JobLeasedEvent"),
        ("1", "JobFailedEvent"),
        (at[first_cancelled], "JobCancellingEvent"),
        (at[first_cancelled], "JobCancelledEvent"),
        (at[last_cancelled], "JobCancellingEvent"),
        (at[last_cancelled], "JobCancelledEvent"),
    ]
    none = "Leased:   0, Pending:   0, Running:   0, Succeeded:   0, Failed:   0"
    assert shown[-1] == f"TIME | Queued:   0, {none}, Cancelled:   2 | JobCancelledEvent, job id: {last_cancelled}"
    failed = lines.index(shown[5])
    assert lines[failed : failed + 3] == [
        f"TIME | Queued:   2, {none}, Cancelled:   0 | JobFailedEvent, job id: {job} pod: 0",
        "Job failed: Container main failed",
        f"Found no logs for job; try 'kubectl --context cluster-1 -n default logs armada-{job}-0 --tail=50",
    ]


async def test_a_raw_watch_prints_whole_events(ctl: Ctl) -> None:
    [job, _] = await submitted(ctl)
    await failed_once(ctl.api, job, RunId("run-1"), ExecutorId("cluster-1"))
    await ctl("cancel", "job-set", "q", "s")
    ran = await ctl("watch", "q", "s", "--exit-if-inactive", "--raw")
    _, *lines = ran.out.splitlines()
    names = [line.split(" ", 1)[0] for line in lines]
    assert names[:3] == ["*api.JobSubmittedEvent", "*api.JobQueuedEvent", "*api.JobSubmittedEvent"]
    [failed] = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("*api.JobFailedEvent")]
    assert failed == {
        "jobId": job,
        "jobSetId": "s",
        "queue": "q",
        "created": {"seconds": 1796047709, "nanos": 538000000},
        "clusterId": "cluster-1",
        "reason": "Container main failed",
        "failureCategory": "oom",
        "retryable": True,
    }


async def test_a_watch_waits_for_what_comes(ctl: Ctl) -> None:
    [job, other] = await submitted(ctl)
    await ctl("cancel", "job", "q", "s", other)
    async with anyio.create_task_group() as tasks:

        async def cancel_later() -> None:
            await anyio.sleep(0.2)
            await ctl.api.services.jobs.cancel(Selection(job_ids=[job]), Order("somebody"))

        tasks.start_soon(cancel_later)
        ran = await ctl("watch", "q", "s", "--exit-if-inactive")
    assert ran.out.count("JobCancelledEvent") == 2


async def test_watching_what_is_not_there_is_refused(ctl: Ctl) -> None:
    remedy = "see refloatctl get queues; or submit its jobs first"
    assert (await ctl("watch", "nobody", "s")).err == refused(
        f"error watching job set s: [GetJobSetEvents] Queue nobody does not exist; {remedy}"
    ).err
    assert (await ctl("watch", "q", "s", "--exit-if-inactive")).err == refused(
        f"error watching job set s: [GetJobSetEvents] Jobset s for queue q does not exist; {remedy}"
    ).err

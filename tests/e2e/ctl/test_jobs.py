"""Jobs from the command line, on a real server: submitted, listed, described, cancelled."""

import json
import re

import pytest

from refloat_common.core.ids import ExecutorId, JobId, RunId
from testkit.ctl.jobs import JOBS, failed_once, one_small_node, submitted
from testkit.ctl.running import Ctl, done, refused

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def queue(ctl: Ctl) -> None:
    await ctl("create", "queue", "q")


async def test_each_submitted_job_is_named(ctl: Ctl) -> None:
    ran = await ctl("submit", ctl.file(JOBS))
    assert (ran.code, ran.err) == (0, "")
    lines = [re.fullmatch(r"Submitted job with id ([0-9a-z]{26}) to job set s", line) for line in ran.out.splitlines()]
    ids = [line[1] for line in lines if line]
    assert len(ids) == len(set(ids)) == 2
    first, second = [await ctl.api.services.jobs.get(JobId(each)) for each in ids]
    assert (first.priority, first.namespace, first.labels, first.annotations) == (
        *(5, "default"),
        *({"app": "x"}, {"note": "yes"}),
    )
    assert (second.priority, second.namespace, second.labels, second.annotations) == (0, "default", {}, {})
    assert first.requirements.requests == {"cpu": "100m", "memory": "64Mi"}


async def test_a_dry_run_submits_nothing(ctl: Ctl) -> None:
    assert await ctl("submit", ctl.file(JOBS), "--dry-run") == done()
    assert await ctl.api.services.jobs.list("q", "s") == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("jobSetId: s", "jobsetid: ''", "jobSetId: is required"),
        ("jobSetId: s", "jobSet: s", 'jobSet: unknown field "jobSet"; did you mean jobSetId?'),
        ("priority: 5", "priority: high", 'jobs[0].priority: must be a number, not the text "high"'),
        ("app: x", "app: 1", "jobs[0].labels[app]: must be a text (in quotes), not 1"),
        ("podSpecs:", "podSpec:", "jobs[0].podSpec: must be a map, not a list"),
        ("image: busybox", "imgae: busybox", "jobs[0].podSpecs[0].containers[0].imgae: 'busybox' stands under a key"),
        ("memory: 64Mi", "memory: lots", "jobs[0].podSpecs[0].containers[0].resources.requests[memory]: 'lots' is no"),
    ],
)
async def test_a_file_that_says_what_no_job_has_is_refused(ctl: Ctl, old: str, new: str, why: str) -> None:
    file = ctl.file(JOBS.replace(old, new, 1))
    ran = await ctl("submit", file)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert ran.err.startswith(f"Error: file {file} error: {why}")


async def test_what_the_server_refuses_is_one_line(ctl: Ctl) -> None:
    ran = await ctl("submit", ctl.file(JOBS.replace("queue: q", "queue: nobody")))
    assert ran == refused(
        'error submitting jobs to queue nobody: could not find queue "nobody"; '
        "create the queue with: refloatctl create queue nobody"
    )


async def test_jobs_are_listed_with_their_last_failure(ctl: Ctl) -> None:
    job, other = sorted(await submitted(ctl))
    await failed_once(ctl.api, job, RunId("run-1"), ExecutorId("cluster-1"))
    assert await ctl("get", "jobs", "q") == done(
        f"""
        JOB                          JOB-SET   STATE    ATTEMPTS   EXECUTOR    NODE     LAST-FAILURE   REASON
        {job}   s         queued   1          cluster-1   node-1   oom/kernel     Container main failed with code 137
        {other}   s         queued   0          -           -        -              -
        """
    )
    listed = json.loads((await ctl("get", "jobs", "q", "s", "-o", "json")).out)
    assert [line["jobId"] for line in listed] == [job, other]


async def test_a_rejected_job_says_why(ctl: Ctl) -> None:
    await one_small_node(ctl.api)
    job, rejected = await submitted(ctl)
    why = "No node that executors have reported could ever take this job.\n1 of 1: less cpu than 1"
    listed = json.loads((await ctl("get", "jobs", "q", "s", "-o", "json")).out)
    assert [(line["jobId"], line["state"], line["subcategory"], line["reason"]) for line in listed] == [
        (job, "queued", "", ""),
        (rejected, "rejected", "job-rejected", why),
    ]
    described = (await ctl("describe", "job", rejected)).out
    assert "Because:       No node that executors have reported could ever take this job.\n" in described
    assert "               1 of 1: less cpu than 1\n" in described


async def test_a_queue_whose_jobs_are_over_says_how_they_are_seen(ctl: Ctl) -> None:
    for job in await submitted(ctl):
        await ctl("cancel", "job", "q", "s", job)
    ran = await ctl("get", "jobs", "q", "-o", "json")
    assert (ran.code, json.loads(ran.out)) == (0, [])
    assert ran.err == "queue q has no unfinished jobs; name a job set to see finished ones\n"
    assert len(json.loads((await ctl("get", "jobs", "q", "s", "-o", "json")).out)) == 2


async def test_more_jobs_than_asked_for_are_announced(ctl: Ctl) -> None:
    job = min(await submitted(ctl))
    ran = await ctl("get", "jobs", "q", "s", "-o", "json", "--limit", "1")
    assert [line["jobId"] for line in json.loads(ran.out)] == [job]
    assert ran.err == "these are the first 1 jobs; ask for more with --limit\n"


async def test_a_job_is_described_with_what_was_decided_and_why(ctl: Ctl) -> None:
    [job, _] = await submitted(ctl)
    verdict = await failed_once(ctl.api, job, RunId("run-1"), ExecutorId("cluster-1"))
    ran = await ctl("describe", "job", job)
    lines = ran.out.split("\nAttempt 1\n")
    assert lines[0].splitlines()[:4] == [
        f"Job:           {job}",
        "Queue:         q",
        "Job set:       s",
        "State:         queued",
    ]
    assert lines[1] == (
        "  Run:         run-1\n"
        "  State:       failed\n"
        "  Executor:    cluster-1\n"
        "  Pool:        default\n"
        "  Node:        node-1\n"
        "  Failure:     oom/kernel\n"
        "  Reason:      Container main failed\n"
        "               with code 137\n"
        "  Verdict:     Retry: retry\n"
        "  Because:     rule 1 matched\n"
        "  Policy:      careful 0123456789ab\n"
        "  Retries:     1 of 3 (policy), at most 5 (globalMaxRetries)\n"
        "  Rule:        0 Fail user-error: another category\n"
        "  Rule:        1 Retry oom: matches\n"
        "  Change:      memory: 64Mi → 96Mi\n"
        "  Late report: failed from cluster-1: the run is fenced\n"
    )
    story = json.loads((await ctl("describe", "job", job, "-o", "json")).out)
    assert story["runs"][0]["verdict"] == json.loads(json.dumps(verdict))


async def test_a_job_that_is_not_there_is_one_line(ctl: Ctl) -> None:
    assert await ctl("describe", "job", "01nobody") == refused(
        'error describing job 01nobody: could not find job "01nobody"'
    )


async def test_a_job_is_cancelled_once(ctl: Ctl) -> None:
    [job, other] = await submitted(ctl)
    assert await ctl("cancel", "job", "q", "s", job) == done(f"Requested cancellation for jobs {job}\n")
    assert await ctl("cancel", "job", "q", "s", job) == refused(
        f"nothing was cancelled: job {job} is over or not there; see refloatctl describe job {job}"
    )
    states = {each.job_id: each.state.value for each in await ctl.api.services.jobs.list("q", "s")}
    assert states == {job: "cancelled", other: "queued"}


async def test_a_job_set_is_cancelled_whole(ctl: Ctl) -> None:
    await submitted(ctl)
    assert await ctl("cancel", "job-set", "q", "s") == done("Requested cancellation for job set s\n")
    assert {job.state.value for job in await ctl.api.services.jobs.list("q", "s")} == {"cancelled"}

"""refloatctl as a process against the whole system: a host, an executor and a fake cluster, each a process."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from testkit.ctl.running import Ran, done
from testkit.ctl.shell import Shell, point_at, wait_until
from testkit.host.process import running_host, write_settings
from testkit.host.system import RunningSystem, running_system
from testkit.real_kube.processes import free_port

pytestmark = pytest.mark.timeout(90)

POLICY = """
{apiVersion: armadaproject.io/v1beta1, kind: RetryPolicy, name: grow, retryLimit: 2, defaultAction: Fail, rules: [
  {action: Retry, onCategory: oom, mutate: {resources: {memory: {factor: 2}}}}]}
"""
OOM = {"cases": [{"when": {"memoryBelow": "100Mi"}, "outcome": "oom"}, {"outcome": "succeed"}]}
LONG = {"outcome": "succeed", "afterMs": 600_000}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    with running_system(tmp_path_factory.mktemp("system")) as system:
        yield system


@pytest.fixture
def shell(system: RunningSystem, tmp_path: Path) -> Shell:
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return point_at(system.address, tmp_path)


def submit(shell: Shell, queue: str, script: object) -> str:
    """Create a queue and submit one job in its job set `s`; the job's id."""
    assert shell("refloatctl create -f policy.yaml").code == 0
    assert shell(f"refloatctl create queue {queue} --retry-policies grow").code == 0
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}}
    job = {
        "priority": 1,
        "namespace": "default",
        "annotations": {"fakekube.refloat.dev/script": json.dumps(script)},
        "podSpec": {"containers": [{"name": "main", "image": "busybox", "resources": resources}]},
    }
    (shell.folder / "jobs.yaml").write_text(json.dumps({"queue": queue, "jobSetId": "s", "jobs": [job]}))
    ran = shell("refloatctl submit jobs.yaml")
    found = re.fullmatch(r"Submitted job with id (\w{26}) to job set s\n", ran.out)
    assert found, ran
    return found[1]


def shown(shell: Shell, line: str) -> Any:
    """What a command prints as JSON."""
    ran = shell(f"refloatctl {line} -o json")
    assert (ran.code, ran.err) == (0, ""), ran
    return json.loads(ran.out)


def executor(shell: Shell) -> dict[str, Any]:
    """The only executor."""
    [line] = shown(shell, "get executors")
    assert isinstance(line, dict)
    return line


def within(shell: Shell, look: Callable[[Shell], bool]) -> None:
    wait_until(lambda: look(shell), within_s=30)


def test_a_job_that_outgrows_its_memory_is_watched_to_its_end_and_explained(shell: Shell) -> None:
    job = submit(shell, "watched", OOM)
    ran = shell("refloatctl watch watched s --exit-if-inactive")
    assert (ran.code, ran.err) == (0, "")
    events = re.findall(r"\| (Job\w+Event), job id: (\w+)", ran.out)
    assert {each for _, each in events} == {job}
    names = [name for name, _ in events if name not in ("JobPendingEvent", "JobRunningEvent")]
    assert names == [
        *("JobSubmittedEvent", "JobQueuedEvent", "JobLeasedEvent", "JobFailedEvent"),
        *("JobLeasedEvent", "JobSucceededEvent"),
    ]
    assert "\nJob failed: " in ran.out
    [line] = shown(shell, "get jobs watched s")
    assert (line["jobId"], line["state"], line["attempts"]) == (job, "succeeded", 2)
    story = shown(shell, f"describe job {job}")
    first, second = story["runs"]
    assert (story["memoryFactor"], first["category"], second["verdict"]) == (2, "oom", None)
    assert (first["verdict"]["retry"], first["verdict"]["policy"]) == (True, "grow")
    text = re.sub(" +", " ", shell(f"refloatctl describe job {job}").out)
    for fact in ("\nMemory grown: by the factor 2\n", "\n Verdict: Retry: retry\n", "\n Rule: 0 Retry oom: matches\n"):
        assert fact in text


def test_an_executor_is_cordoned_and_takes_runs_again_when_it_is_not(shell: Shell) -> None:
    within(shell, lambda it: executor(it)["mayLease"])
    assert executor(shell)["state"] == "live"
    assert shell("refloatctl executor cordon cluster-1") == done("Cordoned executor cluster-1\n")
    within(shell, lambda it: executor(it)["cordoned"] and not executor(it)["mayLease"])
    job = submit(shell, "cordoned", OOM)
    assert [line["state"] for line in shown(shell, "get jobs cordoned")] == ["queued"]
    assert "cordoned" in shell("refloatctl get executors").out
    assert shell("refloatctl executor uncordon cluster-1") == done("Uncordoned executor cluster-1\n")
    assert shell("refloatctl watch cordoned s --exit-if-inactive").code == 0
    assert shown(shell, f"describe job {job}")["state"] == "succeeded"


def test_a_running_job_is_cancelled(shell: Shell) -> None:
    job = submit(shell, "cancelled", LONG)
    within(shell, lambda it: shown(it, "get jobs cancelled")[0]["attempts"] == 1)
    assert shell(f"refloatctl cancel job cancelled s {job}") == done(f"Requested cancellation for jobs {job}\n")
    assert shown(shell, f"describe job {job}")["state"] == "cancelled"
    ran = shell("refloatctl delete queue cancelled")
    assert ran == done("Deleted queue cancelled (or it did not exist)\n")


def test_a_queue_with_unfinished_jobs_is_not_deleted(shell: Shell) -> None:
    submit(shell, "busy", LONG)
    assert shell("refloatctl delete queue busy") == Ran(
        1,
        "",
        'Error: error deleting queue busy: queue "busy" has 1 unfinished jobs; cancel them or wait for them first\n',
    )
    assert shell("refloatctl cancel job-set busy s") == done("Requested cancellation for job set s\n")
    assert shell("refloatctl delete queue busy").code == 0


def test_a_watch_goes_on_when_the_host_comes_back(tmp_path: Path) -> None:
    port = free_port()
    settings, shell = write_settings(tmp_path, grpc={"port": port}), point_at(f"127.0.0.1:{port}", tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    with ExitStack() as stack:
        host = stack.enter_context(running_host(settings))
        first = submit(shell, "q", LONG)
        watching = stack.enter_context(shell.start("refloatctl watch q s"))
        assert watching.stdout is not None
        lines = iter(watching.stdout)
        assert next(lines) == "Watching job set s\n"
        assert [next(lines).rstrip().endswith(first) for _ in range(2)] == [True, True]
        host.kill()
        stack.enter_context(running_host(settings))
        second = submit(shell, "q", LONG)
        seen = [re.findall(r"(Job\w+Event), job id: (\w+)", next(lines)) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        _, complaints = watching.communicate(timeout=20)
    assert seen == [[("JobSubmittedEvent", second)], [("JobQueuedEvent", second)]]
    assert watching.returncode == 130
    assert re.fullmatch(r"(can't reach the server at .*; trying again in \d+s\n)+", complaints)

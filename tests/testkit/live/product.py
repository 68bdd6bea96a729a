"""Runs the product's own processes, a host and executors, on the cluster of a kubeconfig, and talks with the host."""

import json
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
import grpc
import yaml
from armada_client.armada import submit_pb2, submit_pb2_grpc
from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from sqlalchemy import func, select

from refloat_cli.demo.books import JOB_SET, Reader, failures_in, fill_store
from refloat_cli.demo.layout import Layout, configs, lay_out
from refloat_cli.demo.processes.crew import Crew, python_module
from refloat_cli.demo.scenario import Scenario
from refloat_common.core.ids import JobId, pod_name
from refloat_common.core.messages import Report
from refloat_common.core.podproto import fill
from refloat_common.core.settings import merge_trees, parse_settings
from refloat_host.adapters.store.tables import executor_nodes
from refloat_scheduler.core.events import Event, JobFailed, is_terminal
from testkit.real_kube.processes import free_port

COMMAND = "refloat_cli.main"
HOST = "host"
NAMESPACE = "refloat-jobs"
"""The namespace of jobs in configs/kubernetes: the only one that the executor's Role is for."""
POLL_S = 0.02
READY_S = 40.0
SESSION = "a session with the scheduler was opened"
Json = dict[str, Any]


class NotSeenError(AssertionError):
    """What was waited for has not come to pass."""

    def __init__(self, what: str, within_s: float, told: object) -> None:
        super().__init__(f"not within {within_s:g} s: {what}\n{told}")


@dataclass(frozen=True, slots=True)
class Setup:
    """What is laid over the defaults. `policies` are retry policies as an operator writes them."""

    policies: Sequence[Json] = ()
    queues: Mapping[str, str] = field(default_factory=lambda: {"q": ""})
    """Queue → its policy, empty for none."""
    executors: int = 1
    executor: Json = field(default_factory=dict)
    host: Json = field(default_factory=dict)
    rules: Sequence[Path] = (configs() / "categories" / "default.yaml",)


class Product:
    """The processes, from `with` to its end. Nothing runs before `start_host` and `start_executor`."""

    def __init__(self, folder: Path, kubeconfig: Path, setup: Setup) -> None:
        self.setup = setup
        self.layout: Layout = lay_out(folder, setup.executors)
        self.crew = Crew(folder)
        self.port = free_port()
        self.reader: Reader | None = None
        self.told: dict[JobId, list[Event]] = {}
        self._executors: list[str] = []
        self._channel = grpc.insecure_channel(self.address)
        self._write_settings(kubeconfig)
        scenario = parse_settings(
            Scenario,
            {
                "policies": list(setup.policies),
                "queues": [{"name": name, "policy": policy} for name, policy in setup.queues.items()],
                "kinds": [
                    {"name": "none", "queue": next(iter(setup.queues)), "jobs": [{"expect": {"state": "succeeded"}}]}
                ],
            },
        )
        anyio.run(fill_store, self.layout.store, scenario, [])

    @property
    def address(self) -> str:
        """Of the management API."""
        return f"127.0.0.1:{self.port}"

    @property
    def executor(self) -> str:
        """The first executor's name."""
        return self.layout.clusters[0]

    def __enter__(self) -> Self:
        self.reader = Reader.open(self.layout.store, list(self.setup.queues))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.reader is not None:
            self.reader.close()
        self._channel.close()
        self.crew.stop()

    # ---- processes

    def start_host(self) -> None:
        """Start the host; returns when its API answers."""
        self.crew.start(HOST, python_module(COMMAND, "host", "run", "--config", str(self.layout.host_config)))
        try:
            grpc.channel_ready_future(self._channel).result(timeout=READY_S)
        except grpc.FutureTimeoutError:
            self.crew.check()
            raise

    def start_executor(self, name: str = "", *, wait: bool = True) -> None:
        """Start an executor; returns when it has spoken with the host, or at once."""
        name = name or self.executor
        config = self.layout.executor_config(name)
        files = [word for file in (config, *self.setup.rules) for word in ("--config", str(file))]
        self.crew.start(name, python_module(COMMAND, "executor", "run", *files))
        self._executors.append(name)
        if wait:
            self.until(lambda: self.has_session(name), READY_S, f"{name} has a session")

    def has_session(self, name: str = "") -> bool:
        """Whether an executor has spoken with the host since its last start."""
        name = name or self.executor
        return self.crew.times_said(name, SESSION) >= self.crew.starts(name)

    def stop_executor(self, name: str = "") -> int:
        """Let an executor say goodbye; its exit code."""
        name = name or self.executor
        self._executors.remove(name)
        return self.crew.stop([name])[name]

    def stop(self) -> Mapping[str, int]:
        """Let all say goodbye, the executors first; their exit codes."""
        codes = self.crew.stop([*self._executors, HOST]) if self._executors else self.crew.stop([HOST])
        self.listen()
        return codes

    def log(self, name: str = "") -> list[Json]:
        """The log lines of an executor, traces included."""
        text = (self.layout.folder / f"{name or self.executor}.log").read_text(errors="replace")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def said(self, message: str, name: str = "", **values: object) -> list[Json]:
        """The log lines with this message and these values."""
        lines = (line for line in self.log(name) if line["message"] == message)
        return [line for line in lines if values.items() <= line.items()]

    def reported(self, name: str = "") -> list[Report]:
        """The failures in the journal of an executor that has ended."""
        return failures_in(self.layout.journal(name or self.executor))

    def metric(self, sample: str, name: str = "") -> float:
        """What an executor's /metrics says now of a sample, given with its labels; 0 where it is not there."""
        [served] = self.said("metrics are served", name)
        with urllib.request.urlopen(f"http://127.0.0.1:{served['port']}/metrics", timeout=READY_S) as response:
            lines = response.read().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == sample)

    # ---- jobs

    def submit(self, *specs: Json, queue: str = "q", annotations: Mapping[str, str] | None = None) -> list[JobId]:
        """Submit jobs with these pod specs in one request."""
        items = []
        for spec in specs:
            message = core_v1.PodSpec()
            fill(message, spec, "podSpec")
            items.append(
                submit_pb2.JobSubmitRequestItem(pod_spec=message, namespace=NAMESPACE, annotations=annotations or {})
            )
        request = submit_pb2.JobSubmitRequest(queue=queue, job_set_id=JOB_SET, job_request_items=items)
        answer = submit_pb2_grpc.SubmitStub(self._channel).SubmitJobs(request)
        return [JobId(item.job_id) for item in answer.job_response_items]

    def cancel(self, job: JobId, queue: str = "q") -> None:
        """Cancel a job."""
        request = submit_pb2.JobCancelRequest(queue=queue, job_set_id=JOB_SET, job_ids=[job])
        submit_pb2_grpc.SubmitStub(self._channel).CancelJobs(request)

    def listen(self) -> None:
        """Take in what the event stream says."""
        assert self.reader is not None
        for event in self.reader.news():
            self.told.setdefault(event.job_id, []).append(event)

    def events(self, job: JobId) -> list[Event]:
        """All events of a job up to now."""
        self.listen()
        return list(self.told.get(job, ()))

    def story(self, job: JobId) -> list[str]:
        """The events of a job in words; see `in_words`."""
        return [in_words(event) for event in self.events(job)]

    def until(self, condition: Callable[[], object], within_s: float, what: str) -> None:
        """Wait; every process must go on meanwhile.

        Raises:
            NotSeenError: it did not come to pass in time.
        """
        ends_s = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > ends_s:
                told = {job: [in_words(event) for event in events] for job, events in self.told.items()}
                raise NotSeenError(what, within_s, told)
            self.crew.check()
            time.sleep(POLL_S)

    def until_told(self, job: JobId, words: str, within_s: float, times: int = 1) -> None:
        """Wait until an event of the job reads so, so many times."""
        self.until(lambda: self.story(job).count(words) >= times, within_s, f"{words!r} {times} times of job {job}")

    def until_over(self, jobs: Iterable[JobId], within_s: float) -> None:
        """Wait until each of these jobs has its terminal event."""
        waiting = set(jobs)

        def over() -> bool:
            self.listen()
            waiting.difference_update([job for job in waiting if any(map(is_terminal, self.told.get(job, ())))])
            return not waiting

        self.until(over, within_s, f"jobs are over: {waiting}")

    def nodes_known(self, executor: str = "") -> int:
        """How many nodes of an executor the host knows."""
        assert self.reader is not None
        query = select(func.count()).where(executor_nodes.c.executor == (executor or self.executor))
        with self.reader.engine.connect() as connection:
            return connection.execute(query).scalar_one()

    def explanations(self, job: JobId) -> list[Json]:
        """Why the verdicts over a job came out as they did."""
        assert self.reader is not None
        return [dict(one) for one in self.reader.explanations(job)]

    # ---- inside

    def _write_settings(self, kubeconfig: Path) -> None:
        layout = self.layout
        host: Json = {"grpc": {"port": self.port}}
        _overlay(layout.host_config, host, self.setup.host)
        executor: Json = {"kubernetes": {"namespaces": [NAMESPACE]}, "logLevel": "debug"}
        for name in layout.clusters:
            layout.kubeconfig(name).write_text(kubeconfig.read_text())
            _overlay(layout.executor_config(name), executor, self.setup.executor)


def in_words(event: Event) -> str:
    """An event's name; of a failure also its category, and whether a retry follows."""
    if not isinstance(event, JobFailed):
        return event.NAME
    category = "/".join(part for part in (event.failure_category, event.failure_subcategory) if part) or "none"
    return f"failed {category}, {'retried' if event.retryable else 'for good'}"


def pod_path(job: JobId) -> str:
    """Where the pod of a job is in the API."""
    return f"/api/v1/namespaces/{NAMESPACE}/pods/{pod_name(job)}"


def _overlay(file: Path, *trees: Json) -> None:
    file.write_text(yaml.safe_dump(merge_trees([yaml.safe_load(file.read_text()), *trees]), sort_keys=False))

"""A small system of real processes for crash tests: a fake cluster, the host, one executor, real sockets and files."""

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from refloat_cli.demo.books import Reader, failures_in, fill_store
from refloat_cli.demo.judge import Course, follow
from refloat_cli.demo.layout import Layout, configs, lay_out
from refloat_cli.demo.processes.crew import Crew, python_module
from refloat_cli.demo.scenario import PlannedJob, Scenario
from refloat_common.adapters.failpoints import PERMISSION, VARIABLE
from refloat_common.core.ids import JobId
from refloat_common.core.messages import Report
from refloat_executor.core.ledger.values.records import Judged, decode_record
from refloat_scheduler.core.events import Event, JobFailed

COMMAND = "refloat_cli.main"
CLUSTER = "cluster-1"
HOST = "host"
LOOK_EVERY_S = 0.05


@dataclass(slots=True)
class System:
    """The processes, and what was heard from them."""

    layout: Layout
    crew: Crew
    names: dict[JobId, str]
    reader: Reader
    events: list[Event] = field(default_factory=list)
    courses: dict[str, Course] = field(default_factory=dict)

    @classmethod
    def prepare(cls, folder: Path, scenario: Scenario, planned: Sequence[PlannedJob]) -> "System":
        """Lay out files, start the cluster, put the jobs into the store; host and executor do not run yet."""
        layout, crew = lay_out(folder, 1), Crew(folder)
        files = ("--node-file", str(layout.node_file(CLUSTER)), "--kubeconfig", str(layout.kubeconfig(CLUSTER)))
        cluster = crew.start("kube", python_module("refloat_fakekube.cluster", *files))
        json.loads(anyio.run(crew.first_line, cluster))
        names = anyio.run(fill_store, layout.store, scenario, planned)
        reader = Reader.open(layout.store, [queue.name for queue in scenario.queues])
        return cls(layout, crew, names, reader, courses={job.name: Course() for job in planned})

    def start(self, name: str, failpoint: str = "") -> None:
        """Start the host or the executor; with a failpoint it kills itself there."""
        environment = {VARIABLE: failpoint, PERMISSION: "1"} if failpoint else {VARIABLE: ""}
        if name == HOST:
            words = ["host", "run", "--config", str(self.layout.host_config)]
        else:
            rules = configs() / "categories" / "default.yaml"
            words = ["executor", "run", "--config", str(self.layout.executor_config(CLUSTER)), "--config", str(rules)]
        self.crew.start(name, python_module(COMMAND, *words), environment)

    def wait(self, until: Callable[["System"], bool], *, within_s: float, what: str) -> None:
        """Follow the events until something holds."""
        ends_s = time.monotonic() + within_s
        while not until(self):
            assert time.monotonic() < ends_s, f"{what}: not within {within_s:g} s\n{self.logs()}"
            self.listen()
            time.sleep(LOOK_EVERY_S)

    def logs(self) -> str:
        """What every process has logged, and what is known of the jobs, for a failed assertion."""
        states = {name: course.state for name, course in self.courses.items()}
        parts = [
            f"== {path.name}\n{path.read_text(errors='replace')}" for path in sorted(self.layout.folder.glob("*.log"))
        ]
        return "\n".join([str(states), *parts])

    def listen(self) -> None:
        """Take in what the event stream says."""
        news = self.reader.news()
        self.events.extend(news)
        for event in news:
            follow(self.courses[self.names[event.job_id]], event)

    @property
    def all_ended(self) -> bool:
        """Whether every job is over."""
        return all(course.endings for course in self.courses.values())

    def exit_code(self, name: str) -> int | None:
        """The exit code of a process that has ended by itself; negative for a signal."""
        return self.crew.exit_code(name)

    def journaled_categories(self) -> dict[str, tuple[str, str]]:
        """Run → category and subcategory, as the executor's journal has judged them; it must not be running."""
        with closing(sqlite3.connect(self.layout.journal(CLUSTER))) as connection:
            rows = connection.execute("SELECT version, body FROM record WHERE kind = 'detect'").fetchall()
        records = [decode_record(version, body) for version, body in rows]
        return {
            record.run: (record.judgement.category, record.judgement.subcategory)
            for record in records
            if isinstance(record, Judged)
        }

    def reported_failures(self) -> list[Report]:
        """The failures in the journal of the executor, which must have ended."""
        return failures_in(self.layout.journal(CLUSTER))

    def told_categories(self) -> dict[str, tuple[str, str]]:
        """Run → category and subcategory, as the event stream tells them."""
        return {
            event.run_id: (event.failure_category, event.failure_subcategory)
            for event in self.events
            if isinstance(event, JobFailed)
        }

    def verdict_runs(self) -> list[str]:
        """The runs over which a verdict was stored."""
        found: list[str] = []
        for job_id in self.names:
            found += [str(one["run_id"]) for one in self.reader.explanations(job_id)]
        return sorted(found)

    def close(self) -> None:
        """End everything."""
        self.reader.close()
        self.crew.stop()

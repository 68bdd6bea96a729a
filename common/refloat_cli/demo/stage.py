"""Runs the demo: starts the processes, kills an executor in mid-work and lets it come back, counts what happened."""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from refloat_cli.demo.books import Reader, by_name, failures_in, fill_store
from refloat_cli.demo.judge import Cleared, Course, complaints, follow, tallies
from refloat_cli.demo.layout import Layout, configs, lay_out
from refloat_cli.demo.processes.clusters import Witness, witness
from refloat_cli.demo.processes.crew import Crew, python_module
from refloat_cli.demo.result import ExecutorResult, Result
from refloat_cli.demo.scenario import PlannedJob, Scenario
from refloat_cli.demo.screen import Screen
from refloat_common.core.ids import JobId
from refloat_common.core.taxonomy import Disposition
from refloat_fakekube.kubelet.client import Access
from refloat_scheduler.core.events import Event

LOOK_EVERY_S = 0.1
KILL_AT_SHARE = 0.25
DOWN_FOR_S = 0.5
SETTLE_WITHIN_S = 5.0
COMMAND = "refloat_cli.main"
SESSION = "a session with the scheduler was opened"
"""What an executor logs once the host has answered it."""


@dataclass(frozen=True, slots=True)
class Play:
    """What is played. `limit_s` is when jobs that have not ended count as lost."""

    scenario: Scenario
    planned: Sequence[PlannedJob]
    clusters: int
    seed: int
    explain: str
    limit_s: float = 50.0


@dataclass(slots=True)
class Stage:
    """The demo while it runs."""

    play: Play
    layout: Layout
    crew: Crew
    screen: Screen
    began_s: float = field(default_factory=time.monotonic)
    names: dict[JobId, str] = field(default_factory=dict)
    courses: dict[str, Course] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    witnesses: dict[str, Witness] = field(default_factory=dict)
    kills: dict[str, int] = field(default_factory=dict)

    @property
    def ended(self) -> int:
        """How many jobs are over."""
        return sum(course.endings > 0 for course in self.courses.values())

    def take(self, news: Sequence[Event]) -> None:
        """Take events into the courses of their jobs."""
        self.events.extend(news)
        for event in news:
            follow(self.courses[self.names[event.job_id]], event)

    def draw(self) -> None:
        """Show how things stand."""
        crew = {name: f"{one.counts().total()} pods" for name, one in self.witnesses.items()}
        seconds = time.monotonic() - self.began_s
        self.screen.update(seconds, self.courses, tallies(self.events, ()), len(self.events), crew)


Clusters = Callable[[Stage], Awaitable[Sequence[Access]]]
"""Provides the clusters of the layout, and each executor's kubeconfig; says how an onlooker gets in."""


async def fake_clusters(stage: Stage) -> Sequence[Access]:
    """Start the fake clusters; returns once all answer."""
    members = []
    for number, name in enumerate(stage.layout.clusters):
        files = ("--node-file", str(stage.layout.node_file(name)), "--kubeconfig", str(stage.layout.kubeconfig(name)))
        seed = ("--seed", str(stage.play.seed * 1000 + number))
        members.append(stage.crew.start(f"kube-{name}", python_module("refloat_fakekube.cluster", *files, *seed)))
    return [Access(str(json.loads(await stage.crew.first_line(member))["url"])) for member in members]


async def perform(play: Play, folder: Path, screen: Screen, clusters: Clusters = fake_clusters) -> Result:
    """Play it and say what came of it.

    Raises:
        ProcessEndedError, NotReadyError: a process did not do what it is for.
        RequestRefusedError: the host refuses something of the scenario.
    """
    stage = Stage(play, lay_out(folder, play.clusters), Crew(folder), screen)
    try:
        async with anyio.create_task_group() as tasks:
            for name, access in zip(stage.layout.clusters, await clusters(stage), strict=True):
                stage.witnesses[name] = Witness()
                tasks.start_soon(witness, access, stage.witnesses[name])
            stage.names = await fill_store(stage.layout.store, play.scenario, play.planned)
            stage.courses = {job.name: Course() for job in play.planned}
            _start_daemons(stage)
            with screen.showing():
                reader = Reader.open(stage.layout.store, [queue.name for queue in play.scenario.queues])
                await _watch(stage, reader)
            result = await _close(stage, reader)
            reader.close()
            tasks.cancel_scope.cancel()
    finally:
        stage.crew.stop()
    return result


def _start_daemons(stage: Stage) -> None:
    layout, rules = stage.layout, configs() / "categories" / "default.yaml"
    stage.crew.start("host", python_module(COMMAND, "host", "run", "--config", str(layout.host_config)))
    for name in layout.clusters:
        files = ("--config", str(layout.executor_config(name)), "--config", str(rules))
        stage.crew.start(name, python_module(COMMAND, "executor", "run", *files))


async def _watch(stage: Stage, reader: Reader) -> None:
    """Follow the event stream until every job is over; kill an executor once the work is well under way."""
    victim, restart_s = stage.layout.clusters[0], 0.0
    while time.monotonic() - stage.began_s < stage.play.limit_s:
        stage.take(reader.news())
        stage.draw()
        now_s = time.monotonic()
        under_way = stage.ended >= KILL_AT_SHARE * len(stage.courses) and _is_back(stage, victim)
        if not stage.kills and under_way:
            stage.crew.kill(victim)
            stage.kills[victim], restart_s = 1, now_s + DOWN_FOR_S
        elif restart_s and now_s >= restart_s:
            stage.crew.restart(victim)
            restart_s = 0.0
        if not restart_s:
            stage.crew.check()
            if stage.ended == len(stage.courses) and _all_are_back(stage):
                return
        await anyio.sleep(LOOK_EVERY_S)


def _all_are_back(stage: Stage) -> bool:
    """Whether every executor has spoken with the host since its last start."""
    return all(_is_back(stage, name) for name in stage.layout.clusters)


def _is_back(stage: Stage, executor: str) -> bool:
    """The same for one; it must not be killed before, or the count would never be right again."""
    return stage.crew.times_said(executor, SESSION) >= stage.crew.starts(executor)


async def _close(stage: Stage, reader: Reader) -> Result:
    """Let the executors say goodbye, read their journals, and judge."""
    layout = stage.layout
    codes = await anyio.to_thread.run_sync(stage.crew.stop, [*layout.clusters, "host"])
    stage.take(reader.news())
    cleared: list[Cleared] = []
    executors: dict[str, ExecutorResult] = {}
    unexpected: list[dict[str, str]] = []
    for name in layout.clusters:
        entries = await _cleared(stage, name)
        cleared += entries
        kills = stage.kills.get(name, 0)
        executors[name] = ExecutorResult(stage.crew.starts(name), kills, codes[name], len(entries))
    unexpected += complaints(stage.play.planned, stage.courses, cleared)
    unexpected += [{"job": "", "what": f"{name} ended with exit code {code}"} for name, code in codes.items() if code]
    explained = by_name(stage.names, stage.play.explain) if stage.play.explain else None
    return Result(
        seconds=time.monotonic() - stage.began_s,
        succeeded=sum(course.state == "succeeded" for course in stage.courses.values()),
        failed=sum(course.state == "failed" for course in stage.courses.values()),
        events=len(stage.events),
        categories=tallies(stage.events, cleared),
        executors=executors,
        unexpected=unexpected,
        explanations=reader.explanations(explained) if explained else (),
    )


async def _cleared(stage: Stage, name: str) -> list[Cleared]:
    """The failures that an executor journaled; what was deleted is what the cluster itself showed to an onlooker."""
    seen = stage.witnesses[name]
    reports = failures_in(stage.layout.journal(name))
    gone = {report.uid for report in reports if report.pod_gone and report.uid}
    for _ in range(round(SETTLE_WITHIN_S / LOOK_EVERY_S)):
        if gone <= seen.gone:
            break
        await anyio.sleep(LOOK_EVERY_S)
    return [
        Cleared(
            run=report.run,
            category=report.category,
            deleted=report.disposition == Disposition.DELETE and report.uid in seen.doomed,
            gone=report.pod_gone and report.uid in seen.gone,
        )
        for report in reports
    ]

"""Runs the product's executor in the test's own event loop: real journal, real HTTP, a scheduler played by the test."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import msgspec

from refloat_common.adapters.clock import SystemChance, SystemClock
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Lease, Report
from refloat_common.core.settings import parse_settings
from refloat_executor.adapters.journal import ThreadedJournal, open_journal
from refloat_executor.adapters.kube import Source, load_credentials, open_kube
from refloat_executor.daemon.executor import Executor
from refloat_executor.daemon.ports import KubeApi, Ports
from refloat_executor.settings import ExecutorSettings
from testkit.executor.scheduler import PlayedScheduler
from testkit.world.executor import NoMeters

SCRIPT = "fakekube.refloat.dev/script"
CATEGORIES: dict[str, object] = {
    "enabled": True,
    "defaultCategory": "other",
    "categories": [
        {"name": "oom", "action": "Delete", "rules": [{"onConditions": ["OOMKilled"], "hint": "ask for more"}]},
        {"name": "user", "rules": [{"onExitCodes": {"operator": "In", "values": [3]}}]},
        {"name": "app", "action": "Delete", "rules": [{"onExitCodes": {"operator": "In", "values": [1, 137]}}]},
    ],
}


def settings_for(journal: Path, **kubernetes: object) -> ExecutorSettings:
    """Settings of an executor named E1."""
    tree: dict[str, object] = {
        "application": {"clusterId": "E1", "errorCategories": CATEGORIES},
        "kubernetes": {"namespaces": ["default"], **kubernetes},
        "link": {"control": "tcp://127.0.0.1:1", "reports": "tcp://127.0.0.1:1", "insecure": True},
        "journal": {"path": str(journal)},
    }
    return parse_settings(ExecutorSettings, tree)


def lease(run: str, job: str = "", script: str | JsonObject = "succeed", **spec: object) -> Lease:
    """A run of a job, whose pod plays the script."""
    text = script if isinstance(script, str) else json.dumps(script)
    body = {"containers": [{"name": "main", "image": "busybox"}]} | spec
    return Lease(
        run=run,
        job=job or f"job-{run}",
        queue="q",
        job_set="set",
        namespace="default",
        pod_spec=msgspec.json.encode(body),
        annotations={SCRIPT: text} if text else {},
    )


@dataclass
class Notes:
    """What an executor traced and logged."""

    trace: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    log: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    dead: list[tuple[int, str, Report]] = field(default_factory=list)

    def calls(self, verb: str) -> list[dict[str, object]]:
        """The requests of one verb, with their results."""
        return [values for what, values in self.trace if what == "kube.call" and values["verb"] == verb]


def real_ports(
    kube: KubeApi,
    journal: ThreadedJournal,
    scheduler: PlayedScheduler,
    notes: Notes,
    failpoint: Callable[[str], None] = lambda _: None,
) -> Ports:
    """Ports of an executor with a real clock."""

    def trace(what: str, values: Mapping[str, object]) -> None:
        notes.trace.append((what, dict(values)))

    def log(level: str, sentence: str, values: Mapping[str, object]) -> None:
        notes.log.append((level, sentence, dict(values)))

    return Ports(
        kube=kube,
        journal=journal,
        transport=scheduler,
        clock=SystemClock(),
        chance=SystemChance(),
        meters=NoMeters(),
        trace=trace,
        log=log,
        failpoint=failpoint,
        dead_letter=lambda seq, code, report: notes.dead.append((seq, code, report)),
    )


@asynccontextmanager
async def running_executor(
    settings: ExecutorSettings,
    scheduler: PlayedScheduler,
    kubeconfig: JsonObject,
    notes: Notes | None = None,
    failpoint: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Executor]:
    """An executor for as long as the context lasts; leaving it is a kill, not a stop."""
    path = settings.journal.path.with_name("kubeconfig")
    path.write_text(json.dumps(kubeconfig))
    credentials = await load_credentials(Source(str(path)))
    journal = ThreadedJournal(open_journal(settings.journal.path, SystemChance().token))
    try:
        async with open_kube(credentials) as kube, anyio.create_task_group() as tasks:
            executor = Executor(settings, real_ports(kube, journal, scheduler, notes or Notes(), failpoint))
            tasks.start_soon(executor.run)
            yield executor
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await journal.close()

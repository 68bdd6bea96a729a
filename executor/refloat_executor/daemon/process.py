"""The executor as a process: real ports from settings, signals, and what the process ends with."""

import json
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio
import anyio.abc
import msgspec

from refloat_common.adapters.clock import SystemChance, SystemClock
from refloat_common.adapters.failpoints import failpoint_from
from refloat_common.adapters.logs import JsonLog
from refloat_common.adapters.zmq_link.client import ClientKeys, connect
from refloat_common.adapters.zmq_link.keys import read_public, read_secret
from refloat_common.core.messages import Report
from refloat_executor.adapters.health import serve_health
from refloat_executor.adapters.journal import JournalBrokenError, ThreadedJournal, open_journal
from refloat_executor.adapters.kube import Source, load_credentials, open_kube
from refloat_executor.adapters.metrics import PrometheusMeters, serve_metrics
from refloat_executor.daemon.executor import Executor
from refloat_executor.daemon.linking import JournalBehindError, PassiveError
from refloat_executor.daemon.ports import DeadLetter, Log, Ports
from refloat_executor.settings import ExecutorSettings, LinkSettings

OK, FAILED, PASSIVE = 0, 1, 3
"""Exit codes. A process that ended as passive must not be started again."""


async def run_process(settings: ExecutorSettings) -> int:
    """Run until SIGTERM or SIGINT, or until something ends it; gives the exit code.

    Raises:
        KubeConfigError, KeyFileError, JournalInUseError, JournalTooNewError, NetworkFileSystemError, PortTakenError,
        FailpointRefusedError, EndpointRefusedError: it can't start; the message says why.
    """
    log = JsonLog("executor", settings.log_level)
    async with _open_ports(settings, log) as ports:
        executor = Executor(settings, ports)
        async with serve_health(settings.listen_address, settings.http_port, executor.healthy) as port:
            log("info", "the executor has started", {
                "executor": settings.application.cluster_id,
                "journal": ports.journal.loaded.journal_id,
                "runs": len(ports.journal.loaded.books.entries),
                "health_port": port,
            })  # fmt: skip
            return await run_until_signal(executor, log)


class Stoppable(Protocol):
    """What `run_until_signal` needs of an executor."""

    async def run(self) -> None:
        """Run until stopped."""

    def stop(self) -> None:
        """End soon."""


async def run_until_signal(executor: Stoppable, log: Log) -> int:
    """Run; SIGTERM and SIGINT stop. Gives the exit code."""

    async def stop_on_signal(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for received in signals:
                log("info", "the executor was asked to stop", {"signal": received.name})
                executor.stop()

    code = OK
    async with anyio.create_task_group() as tasks:
        await tasks.start(stop_on_signal)
        try:
            await executor.run()
        except* PassiveError as passive:
            code = PASSIVE
            log("error", str(passive.exceptions[0]), {})
        except* (JournalBehindError, JournalBrokenError) as broken:
            code = FAILED
            log("error", str(broken.exceptions[0]), {})
        tasks.cancel_scope.cancel()
    return code


@asynccontextmanager
async def _open_ports(settings: ExecutorSettings, log: Log) -> AsyncIterator[Ports]:
    """The real world outside the daemon, for as long as the context lasts."""
    kube, chance, meters = settings.kubernetes, SystemChance(), PrometheusMeters(settings.application.pool)
    failpoint = failpoint_from()
    keys = _keys(settings.link)
    credentials = await load_credentials(Source(kube.kubeconfig, kube.context, kube.strict_tls))
    opened = open_journal(settings.journal.path, chance.token)
    if opened.set_aside_as is not None:
        log("error", "the journal was damaged: it was set aside, and a new one begins", {
            "set_aside_as": opened.set_aside_as, "journal": opened.loaded.journal_id
        })  # fmt: skip
    journal = ThreadedJournal(opened)
    try:
        async with open_kube(credentials) as api, connect(settings.link.control, settings.link.reports, keys) as client:
            with serve_metrics(settings.listen_address, settings.metric.port, meters.registry) as port:
                log("debug", "metrics are served", {"port": port})
                yield Ports(
                    kube=api,
                    journal=journal,
                    transport=client,
                    clock=SystemClock(),
                    chance=chance,
                    meters=meters,
                    trace=_trace_to(log) if settings.log_level == "debug" else _no_trace,
                    log=log,
                    failpoint=failpoint,
                    dead_letter=dead_letters(settings.journal.path),
                )
    finally:
        with anyio.CancelScope(shield=True):
            await journal.close()


def _keys(link: LinkSettings) -> ClientKeys | None:
    if link.secret_key is None or link.scheduler_key is None:
        return None
    return ClientKeys(read_secret(link.secret_key), read_public(link.scheduler_key))


def _trace_to(log: Log) -> Callable[[str, Mapping[str, object]], None]:
    return lambda what, values: log("debug", what, values)


def _no_trace(_what: str, _values: Mapping[str, object]) -> None:
    return


def dead_letters(journal: Path) -> DeadLetter:
    """Appends to a file beside the journal, one JSON object a line."""
    path = journal.with_name(f"{journal.name}.dead-letters.jsonl")

    def keep(seq: int, code: str, report: Report) -> None:
        line = {"seq": seq, "code": code, "report": msgspec.to_builtins(report)}
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")

    return keep

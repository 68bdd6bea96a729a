"""Puts the executor together from its settings and its ports, and runs it: the same in a process and in a simulator."""

from dataclasses import dataclass
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup

from refloat_common.core.categories import compile_categories
from refloat_common.core.link import executor_side
from refloat_common.core.link.executor.values import Identity
from refloat_common.core.messages import CAPABILITY_DELETE_ACTION, RunEntry
from refloat_common.core.pods import Node, Pod
from refloat_common.core.regex import Pattern
from refloat_executor.core.cluster.bucket import Bucket
from refloat_executor.core.ledger.handlers.step import Limits
from refloat_executor.daemon.cluster import ClusterWork
from refloat_executor.daemon.engine import Config, Engine
from refloat_executor.daemon.following import Follower, follow_nodes, follow_pods
from refloat_executor.daemon.linking import LinkPump
from refloat_executor.daemon.ports import Ports
from refloat_executor.settings import ExecutorSettings

NODES_FIRST_S = 5.0
"""Pods are followed once the nodes are known, so that a failure says which node it was on; but not later than this."""
PODS_FIRST_S = 30.0
"""With a new journal the first hello waits for the list of pods, which may hold runs; but not longer than this."""
FAREWELL_S = 4.0
"""How long a stop waits for everything journaled to be acknowledged; what is not is told after the next start."""
HEALTHY_S = 30.0


def config_of(settings: ExecutorSettings) -> Config:
    """The engine's part of the settings.

    Raises:
        CategoryConfigError: the rules do not make sense.
    """
    kube, journal = settings.kubernetes, settings.journal
    categories = compile_categories(settings.application.error_categories)
    limits = Limits(
        pod_kill_timeout_s=_seconds(kube.pod_kill_timeout),
        stuck_expiry_s=_seconds(kube.stuck_terminating_pod_expiry),
        minimum_pod_age_s=_seconds(kube.minimum_pod_age),
        failed_pod_expiry_s=_seconds(kube.failed_pod_expiry),
        reads_events=categories.has_event_rules,
    )
    return Config(
        limits=limits,
        categories=categories,
        tracked_node_labels=kube.tracked_node_labels,
        node_id_label=kube.node_id_label,
        max_kept_pods=kube.max_terminated_pods,
        max_runs=settings.application.max_runs,
        max_leased_jobs=settings.application.max_leased_jobs,
        journal_max_bytes=journal.max_bytes,
        retention_s=_seconds(journal.retention),
        retention_bytes=journal.retention_bytes,
    )


def _seconds(duration: timedelta) -> float:
    return duration.total_seconds()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one executor, wired."""

    engine: Engine
    pump: LinkPump
    work: ClusterWork
    nodes: Follower[Node]
    pods: tuple[Follower[Pod], ...]


class Executor:
    """One executor. `run` returns after a stop that was asked for; anything else that ends it is raised."""

    def __init__(self, settings: ExecutorSettings, ports: Ports) -> None:
        """Wire the parts; nothing runs yet.

        Raises:
            CategoryConfigError: the rules do not make sense.
        """
        self._settings = settings
        self._ports = ports
        self._stopping = anyio.Event()
        self._parts = _assemble(settings, ports)
        self._linked = False

    def stop(self) -> None:
        """Take nothing new, say goodbye, and end."""
        self._stopping.set()

    def healthy(self) -> bool:
        """Whether the loops turn. A lost scheduler or API server does not make the executor ill."""
        return self._ports.clock.monotonic_s() - self._parts.engine.turned_s < HEALTHY_S

    async def run(self) -> None:
        """Run until stopped.

        Raises:
            ExceptionGroup: of what ended it: `PassiveError`, `JournalBehindError`, `JournalBrokenError`, or a defect.
        """
        self._ports.trace("exec.boot", {"jid": self._ports.journal.loaded.journal_id})
        parts, application = self._parts, self._settings.application
        parts.engine.start()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(parts.engine.run_gate, name="gate")
            tasks.start_soon(parts.engine.run_timers, name="timers")
            tasks.start_soon(parts.engine.run_upkeep, name="upkeep")
            removals, creates = application.delete_concurrency_limit, application.submit_concurrency_limit
            tasks.start_soon(parts.work.run, removals, creates, name="cluster work")
            tasks.start_soon(parts.nodes.run, name="nodes")
            tasks.start_soon(self._open_up, tasks, name="start")
            await self._stopping.wait()
            if self._linked:
                parts.pump.leave()
                with anyio.move_on_after(FAREWELL_S):
                    await parts.pump.left.wait()
            tasks.cancel_scope.cancel()

    async def _open_up(self, tasks: TaskGroup) -> None:
        """Follow the pods once the nodes are known, and greet the scheduler once it can be told of every run."""
        parts = self._parts
        with anyio.move_on_after(NODES_FIRST_S):
            await parts.nodes.synced.wait()
        for follower in parts.pods:
            tasks.start_soon(follower.run, name="pods")
        if self._ports.journal.loaded.fresh:
            with anyio.move_on_after(PODS_FIRST_S):
                for follower in parts.pods:
                    await follower.synced.wait()
                await parts.engine.settled()
        tasks.start_soon(parts.pump.receive, name="link receiver")
        tasks.start_soon(parts.pump.run, name="link")
        self._linked = True


def _assemble(settings: ExecutorSettings, ports: Ports) -> Parts:
    kube, application = settings.kubernetes, settings.application
    engine = Engine(config_of(settings), ports)
    loaded = ports.journal.loaded
    identity = Identity(
        executor=application.cluster_id,
        boot=ports.chance.token(),
        journal=loaded.journal_id,
        capabilities=(CAPABILITY_DELETE_ACTION,),
        node_id_label=kube.node_id_label,
        pool=application.pool,
    )
    link = executor_side.begin(
        identity,
        last_epoch=loaded.books.last_epoch,
        next_seq=loaded.books.next_seq,
        acked_seq=loaded.books.acked_seq,
        oldest_seq=loaded.oldest_seq,
        runs=tuple(_held(engine)),
    )
    pump = LinkPump(engine, link)
    work = ClusterWork(
        engine,
        pump.may_start,
        pool=application.pool,
        fatal=tuple(Pattern(source) for source in kube.fatal_pod_submission_errors),
        bucket=Bucket(kube.qps, kube.burst),
    )
    engine.connect(pump.post, work.submit)
    nodes = follow_nodes(engine, pump.post)
    return Parts(engine, pump, work, nodes, tuple(follow_pods(engine, name) for name in kube.namespaces or ("",)))


def _held(engine: Engine) -> list[RunEntry]:
    """The runs that the first hello tells."""
    return [
        RunEntry(run=entry.run, job=entry.job, status=entry.status, uid=entry.uid)
        for entry in engine.brain.book
        if entry.status is not None
    ]

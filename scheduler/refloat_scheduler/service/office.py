"""What the plugin's tasks share: the link's state, the registry of executors, the policies, the fleet.

Everything here runs on one event loop, and but for `transact` no method awaits: a task that holds no await between
reading and writing sees a consistent state.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar, assert_never

import anyio

from refloat_common.adapters.logs import Log
from refloat_common.core.clock import Clock
from refloat_common.core.ids import ExecutorId
from refloat_common.core.link import scheduler_side
from refloat_common.core.link.scheduler.values import (
    BeatHeard,
    Deliver,
    Departed,
    Effect,
    Event,
    Fault,
    FlowSet,
    Heard,
    NodesTold,
    OpenSession,
    Reply,
    Server,
)
from refloat_common.core.messages import NodeFacts
from refloat_scheduler.core.fit.fleet import Fleet, FleetNode, fleet_node
from refloat_scheduler.core.leases import machine
from refloat_scheduler.core.leases.registry import (
    Answer,
    LeaseEffect,
    LeaseSettings,
    Lost,
    Registry,
    RoomOpened,
    Said,
    StateChanged,
)
from refloat_scheduler.core.policies.cache import PolicyCache
from refloat_scheduler.core.reconcile.world import Outcome
from refloat_scheduler.core.retry.gates import RetrySettings
from refloat_scheduler.core.signals import Level, Metric, Note, Sample
from refloat_scheduler.service.contract import Host, JobsRequeued, RoomChanged, StoreUnavailable, Transaction

T = TypeVar("T")

REPORT_CREDITS: Final = 1024
"""Reports that one executor may have under way beyond what is committed."""
MAX_REPLIES_WAITING: Final = 16_384
"""Beyond these an answer is dropped: every one of them is asked for again."""
_LOG_LEVELS: Final = {Level.DEBUG: "debug", Level.INFO: "info", Level.WARNING: "warning", Level.ALERT: "error"}

Emit = Callable[[Iterable[Sample]], None]
"""Takes metric samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the plugin was given: the host, time, the log, the meters, the settings."""

    host: Host
    clock: Clock
    log: Log
    emit: Emit
    reset_meters: Callable[[float], None]
    failpoint: Callable[[str], None]
    retry: RetrySettings
    lease: LeaseSettings


@dataclass(frozen=True, slots=True)
class Arrived:
    """Reports that wait for a transaction, and when they came (monotonic)."""

    delivery: Deliver
    at_s: float


@dataclass(slots=True)
class Office:
    """The state, and the one way to change each part of it."""

    means: Means
    server: Server
    registry: Registry
    policies: PolicyCache = field(default_factory=PolicyCache)
    fleet: Fleet = field(default_factory=Fleet)
    replies: deque[Reply] = field(default_factory=deque)
    delivered: deque[Arrived] = field(default_factory=deque)
    asked: deque[OpenSession | BeatHeard | NodesTold] = field(default_factory=deque)
    lost: deque[Lost] = field(default_factory=deque)
    reply_bell: anyio.Event = field(default_factory=anyio.Event)
    intake_bell: anyio.Event = field(default_factory=anyio.Event)
    desk_bell: anyio.Event = field(default_factory=anyio.Event)
    lost_bell: anyio.Event = field(default_factory=anyio.Event)
    _nodes: dict[ExecutorId, tuple[FleetNode, ...]] = field(default_factory=dict)

    def now_s(self) -> float:
        """Monotonic time."""
        return self.means.clock.monotonic_s()

    def now_ms(self) -> int:
        """UTC, for what is stored and shown."""
        return self.means.clock.utc_ms()

    # ---- the link

    def happen(self, event: Event) -> None:
        """Let the link's machine take an event, and pass on what it asks for."""
        self.server, effects = scheduler_side.step(self.server, event, self.now_s())
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Reply():
                self._reply(effect)
            case Deliver():
                self.delivered.append(Arrived(effect, self.now_s()))
                self.intake_bell.set()
            case OpenSession() | BeatHeard() | NodesTold():
                self.asked.append(effect)
                self.desk_bell.set()
            case Heard(executor=name):
                self.follow(machine.heard(self.registry, ExecutorId(name), self.now_s(), self.means.lease))
            case Departed(executor=name):
                self.say([Note(Level.INFO, f"executor {name} has said farewell")])
                self.follow(machine.slots(self.registry, ExecutorId(name), 0))
            case Fault():
                self._fault(effect)
            case _:
                assert_never(effect)

    def _reply(self, reply: Reply) -> None:
        if len(self.replies) >= MAX_REPLIES_WAITING:
            self.means.emit([Sample(Metric.REPLIES_DROPPED)])
            return
        self.replies.append(reply)
        self.reply_bell.set()

    def _fault(self, fault: Fault) -> None:
        who = fault.executor or "somebody unknown"
        self.means.emit([Sample(Metric.LINK_FAULTS, (("executor", fault.executor), ("code", fault.code)))])
        self.means.log("warning", f"link: {who}: {fault.code}", {"detail": fault.detail})

    # ---- the registry of executors

    def follow(self, answer: Answer) -> None:
        """Take over a registry, and pass on what follows from the change."""
        self.registry, effects = answer
        for effect in effects:
            self._follow_one(effect)

    def _follow_one(self, effect: LeaseEffect) -> None:
        match effect:
            case Lost():
                self.lost.append(effect)
                self.lost_bell.set()
            case RoomOpened(executor=executor):
                self.means.host.notify(RoomChanged(executor))
            case Said(notes=notes, samples=samples):
                self.say(notes)
                self.means.emit(samples)
            case StateChanged():
                pass
            case _:
                assert_never(effect)

    # ---- the store

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """One transaction of the host, measured. The only method that waits.

        Raises:
            StoreUnavailable: nothing was applied.
        """
        began_s = self.now_s()
        try:
            value = await self.means.host.transact(work)
        except StoreUnavailable:
            self.means.emit([Sample(Metric.STORE_REFUSALS)])
            raise
        self.means.emit([Sample(Metric.STORE_SECONDS, value=self.now_s() - began_s)])
        return value

    def store_is_up(self) -> None:
        """A transaction was committed: the executors may send again."""
        self.means.emit([Sample(Metric.STORE_UP, value=1)])
        if self.server.busy:
            self.say([Note(Level.INFO, "the store is back")])
            self.happen(FlowSet(credits=REPORT_CREDITS, busy=False))
            self.registry = machine.store_changed(self.registry, up=True, now_s=self.now_s(), settings=self.means.lease)

    def store_is_down(self, why: str) -> None:
        """Nothing can be committed: executors keep what they have, and nobody is taken for lost."""
        self.means.emit([Sample(Metric.STORE_UP, value=0)])
        if not self.server.busy:
            self.say([Note(Level.ALERT, why)])
            self.happen(FlowSet(credits=0, busy=True))
        self.registry = machine.store_changed(self.registry, up=False, now_s=self.now_s(), settings=self.means.lease)

    def committed(self, outcome: Outcome) -> None:
        """Say, count and ring what a committed transaction has led to."""
        self.say(outcome.notes)
        self.means.emit(outcome.samples)
        if outcome.requeued:
            self.means.host.notify(JobsRequeued(tuple(dict.fromkeys(outcome.requeued))))
        for executor in dict.fromkeys(outcome.room):
            self.means.host.notify(RoomChanged(executor))

    # ---- the fleet

    def know_nodes(self, executor: ExecutorId, nodes: Iterable[NodeFacts]) -> None:
        """Take over what is known of an executor's nodes."""
        self._nodes[executor] = tuple(map(fleet_node, nodes))
        self.fleet = Fleet(tuple(node for name in sorted(self._nodes) for node in self._nodes[name]))
        self.means.emit([Sample(Metric.FLEET_NODES, value=len(self.fleet.nodes))])

    # ---- people

    def measure(self) -> None:
        """Emit what changes by itself as time goes by."""
        now_s = self.now_s()
        samples = [
            Sample(Metric.SILENT_SECONDS, (("executor", name),), now_s - member.heard_s)
            for name, member in self.registry.members.items()
        ]
        waiting = sum(len(arrived.delivery.reports) for arrived in self.delivered)
        samples += [
            Sample(Metric.REPORTS_WAITING, value=waiting),
            Sample(Metric.BARRIER_OPEN, value=self.registry.barrier_open),
        ]
        self.means.emit(samples)

    def say(self, notes: Iterable[Note]) -> None:
        """Write log lines; an alert is an error that says so."""
        for note in notes:
            self.means.log(_LOG_LEVELS[note.level], note.text, {"alert": True} if note.level is Level.ALERT else {})

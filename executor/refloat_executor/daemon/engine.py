"""Holds the brain and carries its output out: first the records are synced, then the effects are let go.

Everything outward passes this gate in order. While one batch is being synced the next one gathers, so a storm of
failures costs few syncs, and nothing waits for a timer that news could wake.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import anyio

from refloat_common.core.categories import CompiledCategories
from refloat_common.core.link.executor.values import CapacityChanged, Event, Journaled, RunsChanged
from refloat_common.core.messages import RunEntry
from refloat_executor.adapters.journal import JournalFullError
from refloat_executor.core.brain import Brain
from refloat_executor.core.cluster.nodes import NodeBook
from refloat_executor.core.ledger.book import Output
from refloat_executor.core.ledger.handlers.step import Limits, Moment
from refloat_executor.core.ledger.values.effects import Effect
from refloat_executor.core.ledger.values.entry import State
from refloat_executor.core.ledger.values.records import Acked, Closed, Gone, Judged, Record, Reported
from refloat_executor.daemon.ports import Ports

FULL_PAUSE_S = 1.0
MAX_PENDING_RECORDS = 20_000
"""More than these, and whoever reads the cluster waits."""
LAZY_S = 1.0
"""How long acknowledgements may wait for other records: losing them costs a resend."""
PRUNE_EVERY_S, MEASURE_EVERY_S = 600.0, 5.0
SHORTEST_PAUSE_S = 0.001
NO_LEASES_AT, NO_DELETES_AT = 0.8, 0.95
"""Shares of the journal's bound."""
_STARTING = (State.ACCEPTED, State.WAITING, State.CREATING)
_LAZY = (Acked, Closed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the engine needs of the settings."""

    limits: Limits
    categories: CompiledCategories
    tracked_node_labels: tuple[str, ...]
    node_id_label: str
    max_kept_pods: int
    max_runs: int
    max_leased_jobs: int
    journal_max_bytes: int
    retention_s: float
    retention_bytes: int


@dataclass(slots=True)
class _JournalState:
    used_bytes: int = 0
    oldest_seq: int = 1
    full: bool = False
    lazy: list[Record] = field(default_factory=list)
    lazy_since_s: float | None = None


class Engine:
    """The brain, the gate, and the two doors behind it: requests to the cluster, and events for the link."""

    def __init__(self, config: Config, ports: Ports) -> None:
        loaded = ports.journal.loaded
        self.config = config
        self.ports = ports
        self.nodes = NodeBook(config.tracked_node_labels, config.node_id_label)
        self.brain = Brain(
            loaded.books,
            config.limits,
            config.categories,
            self.nodes.id_value,
            max_kept_pods=config.max_kept_pods,
            adopts=loaded.fresh,
        )
        self.turned_s = ports.clock.monotonic_s()
        """When the gate or the timers last went round; health looks at it."""
        self._journal = _JournalState()
        self._news = anyio.Event()
        self._passed = anyio.Event()
        self._syncing = 0
        self._timer_s = 0.0
        self._timer_news = anyio.Event()
        self._to_link: Callable[[Event], None] = _nowhere
        self._to_cluster: Callable[[Effect], None] = _nowhere
        self._capacity = CapacityChanged(0, 0)

    def connect(self, to_link: Callable[[Event], None], to_cluster: Callable[[Effect], None]) -> None:
        """Say where effects go."""
        self._to_link, self._to_cluster = to_link, to_cluster

    def moment(self) -> Moment:
        """Now, with a random number."""
        clock = self.ports.clock
        return Moment(clock.monotonic_s(), clock.utc_ms(), self.ports.chance.fraction())

    def start(self) -> None:
        """Take up what the journal says was under way."""
        self.brain.book.resume(self.moment())
        self.wake()

    def wake(self) -> None:
        """The brain was told something: see what it wants."""
        self._news.set()

    def journal_record(self, record: Record) -> None:
        """Write a record that is not about a run; nothing waits for it."""
        self._journal.lazy.append(record)
        if self._journal.lazy_since_s is None:
            self._journal.lazy_since_s = self.ports.clock.monotonic_s()

    async def room(self) -> None:
        """Wait while too much has gathered at the gate."""
        while self._syncing + len(self.brain.book.pending.records) > MAX_PENDING_RECORDS:
            await self._passed.wait()

    async def settled(self) -> None:
        """Wait until everything that was told so far is synced and let go."""
        while self._syncing or self.brain.book.pending:
            await self._passed.wait()

    # ---- the gate

    async def run_gate(self) -> None:
        """Sync and let go, for ever."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            output = self.brain.take()
            self._rearm()
            await self._pass(output)
            self.turned_s = self.ports.clock.monotonic_s()
            passed, self._passed = self._passed, anyio.Event()
            passed.set()

    async def _pass(self, output: Output) -> None:
        held = self._held(output)
        records = self._with_lazy(output.records)
        if any(isinstance(record, Gone) for record in records):
            self.ports.failpoint("executor.gone_before_report")
        if records:
            self._syncing = len(records)
            await self._sync(records)
            self._syncing = 0
        self._observe(records)
        for overdue_s in output.overdue_s:
            self.ports.meters.pod_gone(overdue_s)
        if any(isinstance(record, Judged) for record in records):
            self.ports.failpoint("executor.classified")
        if held.changed or held.removed:
            self._to_link(held)
        reported = [record.seq for record in records if isinstance(record, Reported)]
        if reported:
            self._to_link(Journaled(max(reported) + 1, self._journal.oldest_seq))
        for effect in output.effects:
            self._to_cluster(effect)
        self.tell_capacity()

    def _with_lazy(self, records: list[Record]) -> list[Record]:
        """What must be written now: acknowledgements alone wait a little for company."""
        state = self._journal
        together = [*state.lazy, *records]
        if not together:
            return []
        now_s = self.ports.clock.monotonic_s()
        since_s = now_s if state.lazy_since_s is None else state.lazy_since_s
        if all(isinstance(record, _LAZY) for record in together) and now_s - since_s < LAZY_S:
            state.lazy, state.lazy_since_s = together, since_s
            return []
        state.lazy, state.lazy_since_s = [], None
        return together

    async def _sync(self, records: list[Record]) -> None:
        """Write records; wait where there is no room, for heartbeats go on and room may come."""
        began_s = self.ports.clock.monotonic_s()
        while True:
            try:
                await self.ports.journal.append(records, self.ports.clock.utc_ms())
            except JournalFullError as error:
                if not self._journal.full:
                    self.ports.log("error", str(error), {"records": len(records)})
                self._journal.full = True
                self.tell_capacity()
                await anyio.sleep(FULL_PAUSE_S)
                self.turned_s = self.ports.clock.monotonic_s()
            else:
                break
        self._journal.full = False
        self.ports.meters.commit(len(records), self.ports.clock.monotonic_s() - began_s)

    def _held(self, output: Output) -> RunsChanged:
        """How the runs that were touched stand, as it may be told once the records are synced."""
        changed: list[RunEntry] = []
        removed: list[str] = []
        for run in output.changed:
            entry = self.brain.book.get(run)
            if entry is None or entry.status is None:
                removed.append(run)
            elif entry.state is not State.CREATING:
                # While a create is on its way the link still counts the run as one that it may stop.
                changed.append(RunEntry(run=run, job=entry.job, status=entry.status, uid=entry.uid))
        return RunsChanged(tuple(changed), tuple(removed))

    def _observe(self, records: list[Record]) -> None:
        trace = self.ports.trace
        for record in records:
            match record:
                case Judged(run, uid, judgement):
                    named = {"category": judgement.category, "subcategory": judgement.subcategory}
                    trace("pod.detect", {"run": run, "uid": uid, "action": judgement.disposition} | named)
                case Gone(run, uid):
                    trace("pod.gone", {"run": run, "uid": uid})
                case Reported(seq, report):
                    trace("jrn.synced", {"run": report.run, "seq": seq, "report": report.kind.value})
                    if report.category:
                        self.ports.meters.failure(report.category, report.subcategory)
                case _:
                    pass

    # ---- time and size

    async def run_timers(self) -> None:
        """Run what is due when it is due; and at least every second, so that a standstill of ours is noticed."""
        while True:
            at = self.moment()
            self.brain.tick(at)
            self.turned_s = at.now_s
            self.wake()
            due_s = self.brain.due_s()
            self._timer_s = at.now_s + 1.0 if due_s is None else min(at.now_s + 1.0, due_s)
            self._timer_news = anyio.Event()
            with anyio.move_on_after(max(SHORTEST_PAUSE_S, self._timer_s - at.now_s)):
                await self._timer_news.wait()

    def _rearm(self) -> None:
        """A timer may have been set that is due before the one that is slept for."""
        due_s = self.brain.due_s()
        if due_s is not None and due_s < self._timer_s:
            self._timer_news.set()

    async def run_upkeep(self) -> None:
        """Measure the journal, and drop from it what is not needed, now and then."""
        pruned_s = self.ports.clock.monotonic_s()
        while True:
            await self._measure()
            now_s = self.ports.clock.monotonic_s()
            if now_s - pruned_s >= PRUNE_EVERY_S:
                pruned_s = now_s
                keep_from_ms = self.ports.clock.utc_ms() - int(self.config.retention_s * 1000)
                await self.ports.journal.prune(keep_from_ms, self.config.retention_bytes, self.brain.book.acked_seq)
            await anyio.sleep(MEASURE_EVERY_S)

    async def _measure(self) -> None:
        state, book = self._journal, self.brain.book
        state.used_bytes, state.oldest_seq = await self.ports.journal.sizes()
        book.limits = replace(book.limits, holds_deletes=self._fill() >= NO_DELETES_AT)
        self.tell_capacity()
        self.ports.meters.phases(book.census())
        self.ports.meters.gauges(
            {
                "journal_bytes": state.used_bytes,
                "reports_unacknowledged": book.next_seq - 1 - book.acked_seq,
                "pods": len(self.brain.pods),
                "foreign_pods": self.brain.foreign_pods,
            }
        )

    def _fill(self) -> float:
        return self._journal.used_bytes / self.config.journal_max_bytes

    def tell_capacity(self) -> None:
        """Tell the link how many more runs may come, if that has changed."""
        book, config, state = self.brain.book, self.config, self._journal
        free = min(config.max_leased_jobs - book.count(*_STARTING), config.max_runs - len(book))
        if state.full or self._fill() >= NO_LEASES_AT:
            free = 0
        capacity = CapacityChanged(max(0, free), max(0, config.journal_max_bytes - state.used_bytes))
        if capacity != self._capacity:
            self._capacity = capacity
            self._to_link(capacity)


def _nowhere(_effect: object) -> None:
    raise AssertionError("the engine was not connected")

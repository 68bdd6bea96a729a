"""Holds every run's entry, feeds news to the table, and collects what must be journaled and done.

Beside the table it knows three things that concern more than one run: which sequence comes next, which runs are of the
same job, and whose timer is the next. What it hands out is taken with `take`: records first to be synced, then effects
to be carried out, in this order.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from refloat_common.core.messages import Lease
from refloat_common.core.pods import Pod
from refloat_executor.core.ledger.fold import Books, written
from refloat_executor.core.ledger.handlers import ended
from refloat_executor.core.ledger.handlers.step import Context, Judge, Limits, Moment, Step
from refloat_executor.core.ledger.table import step
from refloat_executor.core.ledger.values.effects import DeletePod, Effect, ReadPod
from refloat_executor.core.ledger.values.entry import Doing, Entry, State
from refloat_executor.core.ledger.values.news import (
    Acknowledged,
    Due,
    NameFreed,
    News,
    StrayFound,
    Unwanted,
)
from refloat_executor.core.ledger.values.records import Accepted, Adopted, Gone, Record, Reported, RunRecord

TICK_GAP_S = 5.0
"""A longer gap between two ticks means that this process did not run: no pod was stuck through it."""


@dataclass(slots=True)
class Output:
    """What must be done, in order: sync `records`, then carry out `effects`.

    `changed` are the runs touched; `overdue_s` says of pods that went how long they outlived deletion and grace.
    """

    records: list[Record] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    changed: dict[str, None] = field(default_factory=dict)
    overdue_s: list[float] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.records or self.effects or self.changed)


class Book:
    """The runs of this executor. Mutable, but a function of what it is given: no clock, no chance, no I/O."""

    def __init__(self, books: Books, limits: Limits, judge: Judge, node_label: Callable[[str], str]) -> None:
        self.limits = limits
        self._judge = judge
        self._node_label = node_label
        self._entries: dict[str, Entry] = dict(books.entries)
        self._ended = set(books.ended)
        self._next_seq = books.next_seq
        self._acked_seq = books.acked_seq
        self._by_job: dict[str, dict[str, None]] = {}
        self._by_seq: dict[int, str] = {}
        self._timers: list[tuple[float, str]] = []
        self._counts = dict.fromkeys(State, 0)
        self._last_tick_s: float | None = None
        self._output = Output()
        for entry in sorted(self._entries.values(), key=lambda entry: entry.seq):
            self._index(None, entry)

    # ---- reading

    def get(self, run: str) -> Entry | None:
        """The entry of a run that is not closed."""
        return self._entries.get(run)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def known(self, run: str) -> bool:
        """Whether the journal has ever seen this run, as far back as it is kept."""
        return run in self._entries or run in self._ended

    @property
    def next_seq(self) -> int:
        """The sequence that the next report gets."""
        return self._next_seq

    @property
    def acked_seq(self) -> int:
        """The highest acknowledged sequence."""
        return self._acked_seq

    def due_s(self) -> float | None:
        """When the next timer runs out; it may be one that was called off."""
        return self._timers[0][0] if self._timers else None

    @property
    def pending(self) -> Output:
        """What has come together since the last `take`; to be looked at only."""
        return self._output

    def census(self) -> dict[tuple[str, str], int]:
        """How many runs are in each state, by queue and state."""
        return Counter((entry.queue, entry.state.value) for entry in self._entries.values())

    def count(self, *states: State) -> int:
        """How many runs are in one of these states."""
        return sum(self._counts[state] for state in states)

    def take(self) -> Output:
        """What has come together since the last call."""
        output, self._output = self._output, Output()
        return output

    # ---- news

    def resume(self, at: Moment) -> None:
        """Take up what the journal says was under way when the last process ended."""
        for entry in list(self._entries.values()):
            self._take_up(entry, at)

    def accept(self, lease: Lease, at: Moment) -> bool:
        """Take over a lease, unless the run was ever known."""
        if self.known(lease.run):
            return False
        self._settle(None, write_new(Accepted(lease)), at)
        return True

    def adopt(self, run: str, job: str, pod: Pod, at: Moment) -> None:
        """Take over a pod of ours that a new journal knows nothing of."""
        if not self.known(run):
            meta = pod.metadata
            self._settle(None, write_new(Adopted(run, job, meta.namespace, meta.name, meta.uid)), at)

    def tell(self, run: str, news: News, at: Moment) -> None:
        """Hand news to a run; news for a run that is closed, or was never known, mean nothing."""
        entry = self._entries.get(run)
        if entry is not None:
            self._settle(entry, step(entry, news, self._context(entry, at)), at)

    def stray(self, run: str, job: str, pod: Pod, at: Moment) -> None:
        """A pod of an ended run was found."""
        if run in self._entries:
            self.tell(run, StrayFound(pod), at)
        elif run in self._ended:
            self._settle(None, ended.adopt_stray(run, job, pod), at)

    def acknowledge(self, have: int, at: Moment) -> None:
        """The scheduler has committed every report up to `have`: less than before, if its store went back."""
        if have >= self._acked_seq:
            # Sequences are entered in rising order, so those that are acknowledged stand in front.
            while self._by_seq and (seq := next(iter(self._by_seq))) <= have:
                self.tell(self._by_seq.pop(seq), Acknowledged(), at)
        self._acked_seq = have

    def tick(self, at: Moment) -> None:
        """Run the timers that are due. To be called at `due_s`, and at least every second."""
        gap_s = 0.0 if self._last_tick_s is None else at.now_s - self._last_tick_s
        if gap_s > TICK_GAP_S:
            self._shift(gap_s)
        self._last_tick_s = at.now_s
        while self._timers and self._timers[0][0] <= at.now_s:
            due_s, run = heapq.heappop(self._timers)
            entry = self._entries.get(run)
            if entry is not None and entry.due_s == due_s:
                self.tell(run, Due(), at)

    def drop_oldest(self, keep: int, at: Moment) -> None:
        """Remove the oldest kept pods beyond `keep` (setting `maxTerminatedPods`)."""
        if self._counts[State.MARKED] <= keep:
            return
        kept = [entry for entry in self._entries.values() if entry.state is State.MARKED]
        for entry in sorted(kept, key=lambda entry: entry.marked_s)[: max(0, len(kept) - keep)]:
            self.tell(entry.run, Unwanted(), at)

    # ---- inside

    def _context(self, entry: Entry, at: Moment) -> Context:
        busy = partial(self._name_busy, entry)
        return Context(at, self.limits, self._next_seq, busy, self._judge, self._node_label)

    def _name_busy(self, entry: Entry) -> bool:
        others = (self._entries[run] for run in self._by_job.get(entry.job, ()) if run != entry.run)
        return any(other.holds_name and other.namespace == entry.namespace for other in others)

    def _settle(self, before: Entry | None, done: Step, at: Moment) -> None:
        after, output = done.entry, self._output
        for record in done.records:
            output.records.append(record)
            if isinstance(record, Reported):
                self._note_report(record)
            elif isinstance(record, Gone) and before is not None and before.accepted_s is not None:
                output.overdue_s.append(at.now_s - before.accepted_s - before.grace_s)
        output.effects.extend(done.effects)
        entry = after if after is not None else before
        assert entry is not None
        if after is None:
            del self._entries[entry.run]
        else:
            self._entries[entry.run] = after
        self._index(before, after)
        output.changed[entry.run] = None
        if done.frees is not None:
            self._free(entry.job, done.frees, at)
        if before is not None and before.holds_name and (after is None or not after.holds_name):
            for run in [run for run in self._by_job.get(entry.job, ()) if run != entry.run]:
                self.tell(run, NameFreed(), at)

    def _note_report(self, record: Reported) -> None:
        assert record.seq == self._next_seq
        self._next_seq += 1
        if record.report.kind.ends_run:
            self._ended.add(record.run)
            self._by_seq[record.seq] = record.run

    def _index(self, before: Entry | None, after: Entry | None) -> None:
        if before is not None:
            self._counts[before.state] -= 1
        if after is not None:
            self._counts[after.state] += 1
        if before is None and after is not None:
            self._by_job.setdefault(after.job, {})[after.run] = None
            if after.seq > self._acked_seq:
                self._by_seq[after.seq] = after.run
        elif before is not None and after is None:
            runs = self._by_job[before.job]
            del runs[before.run]
            if not runs:
                del self._by_job[before.job]
        if after is not None and after.due_s is not None and (before is None or before.due_s != after.due_s):
            heapq.heappush(self._timers, (after.due_s, after.run))

    def _free(self, job: str, holder: Pod, at: Moment) -> None:
        """The holder of a needed name goes, if it is the pod of a run that has ended."""
        for run in list(self._by_job.get(job, ())):
            if self._entries[run].uid == holder.metadata.uid:
                self.tell(run, Unwanted(), at)

    def _shift(self, gap_s: float) -> None:
        """This process stood still: the time does not count against pods that could not be looked at."""
        for run, entry in self._entries.items():
            if entry.accepted_s is not None:
                self._entries[run] = replace(entry, accepted_s=entry.accepted_s + gap_s)

    def _take_up(self, entry: Entry, at: Moment) -> None:
        effects, after = resumed(entry, self.limits, at)
        self._entries[entry.run] = after
        self._index(entry, after)
        self._output.effects.extend(effects)
        self._output.changed[entry.run] = None
        if entry.acked and entry.gone:
            self._settle(after, ended.acked(after, Acknowledged(), self._context(after, at)), at)


def write_new(record: RunRecord) -> Step:
    """The first record of a run."""
    return Step(written(None, record), (record,))


def resumed(entry: Entry, limits: Limits, at: Moment) -> tuple[tuple[Effect, ...], Entry]:
    """What a new process does for a run as the journal left it."""
    match entry.state:
        case State.CREATING:
            open_until_s = at.now_s + limits.create_open_s
            after = replace(entry, doing=Doing.READ, create_open_until_s=open_until_s)
            return (ReadPod(entry.run, entry.namespace, entry.name),), after
        case State.CLASSIFIED | State.STUCK | State.KILLING | State.RETIRING:
            request = DeletePod(entry.run, entry.namespace, entry.name, entry.uid)
            terminal = entry.state is not State.KILLING
            return (request,), replace(entry, doing=Doing.DELETE, terminal=terminal)
        case State.MARKED:
            return (), ended.keep(entry, limits, at.now_s)
        case _:
            return (), entry

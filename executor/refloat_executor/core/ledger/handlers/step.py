"""Names what a handler of the table is given and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec.structs import replace

from refloat_common.core.messages import Report
from refloat_common.core.pods import Event, Pod
from refloat_executor.core.backoff import backoff_s
from refloat_executor.core.ledger.fold import written
from refloat_executor.core.ledger.values.effects import Effect
from refloat_executor.core.ledger.values.entry import Doing, Entry
from refloat_executor.core.ledger.values.news import News
from refloat_executor.core.ledger.values.records import Judgement, Reported, RunRecord


@dataclass(frozen=True, slots=True)
class Moment:
    """When something happens: monotonic seconds for decisions, UTC for display, and a random number in [0, 1)."""

    now_s: float
    utc_ms: int
    dice: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Durations and bounds of the ledger; all from settings, in seconds."""

    create_open_s: float = 15.0
    """How long a create without an answer may still take effect: the server's own limit on the request, and half."""
    create_attempts: int = 8
    """Creates that certainly did not take effect, before the lease is returned."""
    name_wait_s: float = 60.0
    """How long a run waits for an older run's pod to go, before it takes its chance with the name."""
    pod_kill_timeout_s: float = 30.0
    stuck_expiry_s: float = 30.0
    poll_first_s: float = 0.25
    poll_longest_s: float = 10.0
    """Reads of a pod that is being removed: news of the watch comes first, these are for when it does not."""
    stuck_poll_s: float = 30.0
    events_wait_s: float = 1.0
    """How long a failure waits for the events of its pod to be read."""
    minimum_pod_age_s: float = 180.0
    failed_pod_expiry_s: float = 600.0
    reads_events: bool = False
    """Whether a rule looks at events."""
    holds_deletes: bool = False
    """Whether the journal is so full that no deletion may be begun: its records need room."""


class Judge(Protocol):
    """Names a failure; pure."""

    def __call__(
        self, pod: Pod | None, events: tuple[Event, ...], *, foreign_delete: bool, detected_at_ms: int
    ) -> Judgement:
        """The judgement over a pod's last state; None for a pod that nothing is known of."""


class Context(msgspec.Struct, frozen=True):
    """All that a handler may look at beside the entry and the news.

    `seq` is the sequence that its report gets; `name_busy` whether an older run's pod is being removed under the name;
    `node_label` gives the value of the label `nodeIdLabel` of a node.
    """

    at: Moment
    limits: Limits
    seq: int
    name_busy: Callable[[], bool]
    judge: Judge
    node_label: Callable[[str], str]


class Step(msgspec.Struct, frozen=True):
    """What follows from one piece of news. `entry` None: nothing is left to do for the run.

    The effects are carried out after the records are synced. `frees`: a pod whose name the run needs.
    """

    entry: Entry | None
    records: tuple[RunRecord, ...] = ()
    effects: tuple[Effect, ...] = ()
    frees: Pod | None = None


Handler = Callable[[Entry, News, Context], Step]


def stay(entry: Entry, _news: News, _context: Context) -> Step:
    """Nothing follows."""
    return Step(entry)


def write(entry: Entry, *records: RunRecord) -> Step:
    """The entry once these records count, with nothing under way."""
    after: Entry | None = entry
    for record in records:
        after = written(after, record)
    return Step(None if after is None else idle(after), records)


def then(step: Step, *effects: Effect, **changes: object) -> Step:
    """The step with more effects, and its entry with changes of what is not journaled."""
    entry = step.entry if step.entry is None or not changes else replace(step.entry, **changes)
    return replace(step, entry=entry, effects=(*step.effects, *effects))


def idle(entry: Entry) -> Entry:
    """The entry with no request under way, no timer and no failures."""
    if entry.doing is Doing.NOTHING and entry.due_s is None and entry.failures == 0:
        return entry
    return replace(entry, doing=Doing.NOTHING, due_s=None, failures=0)


def again(entry: Entry, doing: Doing, context: Context, at_least_s: float = 0.0) -> Step:
    """Try the same again after a growing pause."""
    failures = entry.failures + 1
    pause_s = max(at_least_s, backoff_s(failures, context.at.dice))
    return Step(replace(entry, doing=doing, failures=failures, due_s=context.at.now_s + pause_s))


def report_record(context: Context, report: Report) -> Reported:
    """The record of a report, in its place of the sequence."""
    return Reported(context.seq, report)

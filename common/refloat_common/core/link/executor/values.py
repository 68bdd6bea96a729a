"""What the executor's end of the link remembers, what can happen to it, and what it asks for.

All values are frozen; `executor_side.step` makes new ones. Times are seconds on the monotonic clock of the process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from refloat_common.core.link.frames import Channel, FromExecutor, FromScheduler
from refloat_common.core.messages import Lease, NodeFacts, Report, RunEntry, Timing

DEFAULT_TIMING: Final = Timing(heartbeat_interval_s=5.0, start_window_s=30.0)
"""In force until the first WELCOME names the scheduler's."""


class Phase(Enum):
    """Where the executor's end stands."""

    GREETING = "greeting"
    """HELLO was sent, or is about to be; no session. Nothing is started or reported; what runs goes on."""
    OPEN = "open"
    TURNED_AWAY = "turned-away"
    """The scheduler takes neither this key nor this version; asked again at long intervals."""
    PASSIVE = "passive"
    """A newer process of this executor has taken over. For good."""
    GONE = "gone"
    """BYE was sent, or the journal can't be gone on with. For good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who speaks. `boot` is new with every process, `journal` was made with the journal."""

    executor: str
    boot: str
    journal: str
    capabilities: tuple[str, ...] = ()
    node_id_label: str = ""
    pool: str = "default"


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat under way: when it was sent, and the runs that it listed."""

    n: int
    sent_at_s: float
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beating:
    """Heartbeats and what they prove.

    `fresh_from_s`: when the newest answered beat (or hello) was sent; the lease is as old as that. `full_in`: beats
    until one lists every run.
    """

    n: int = 0
    due_s: float = 0.0
    pending: tuple[Beat, ...] = ()
    full_in: int = 0
    fresh_from_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """Hellos: how many were sent, when, when the next is due, and the verdicts received so far for one WELCOME."""

    attempt: int = 0
    sent_at_s: Mapping[int, float] = field(default_factory=dict)
    due_s: float = 0.0
    wait_s: float = 1.0
    parts: int = 0
    parts_epoch: int = 0
    verdicts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Reports: what the journal holds and what of it is under way.

    `next_seq` is one more than the last *synced* report; `acked` the highest acknowledged; `sent` the highest sent in
    this session. `fetching` is the first sequence asked of the journal, 0 when nothing is. `flights` are the last
    sequences of the batches under way. `repeated`: a batch was sent again since the last progress, so what was sent
    behind it is lost as well.
    """

    next_seq: int = 1
    oldest_seq: int = 1
    acked: int = 0
    sent: int = 0
    credits: int = 0
    fetching: int = 0
    flights: tuple[int, ...] = ()
    resend_at_s: float | None = None
    resend_wait_s: float = 0.0
    repeated: bool = False
    hold_until_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The runs that the executor holds, until their end is acknowledged.

    `unconfirmed`: accepted runs that no answered beat has listed yet, in order. `confirmed`: accepted runs that may
    start. `digest` is the exclusive or of 64-bit hashes of the run ids.
    """

    runs: Mapping[str, RunEntry] = field(default_factory=dict)
    unconfirmed: Mapping[str, None] = field(default_factory=dict)
    confirmed: frozenset[str] = frozenset()
    digest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBook:
    """The node facts as last told, and how often they changed."""

    facts: Mapping[str, NodeFacts] = field(default_factory=dict)
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorLink:
    """Everything that the executor's end remembers.

    While `leaving`, nothing new is accepted or started; a BYE follows once everything journaled is acknowledged, and
    without a session the end is at once.
    """

    identity: Identity
    phase: Phase = Phase.GREETING
    leaving: bool = False
    epoch: int = 0
    last_epoch: int = 0
    scheduler_boot: str = ""
    timing: Timing = DEFAULT_TIMING
    greeting: Greeting = field(default_factory=Greeting)
    beating: Beating = field(default_factory=Beating)
    window: Window = field(default_factory=Window)
    held: Held = field(default_factory=Held)
    nodes: NodeBook = field(default_factory=NodeBook)
    free_slots: int = 0
    journal_free_bytes: int = 0


# ---- what can happen


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed. Due at `deadline_s`; harmless at any other time."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message came, on either channel."""

    message: FromScheduler


@dataclass(frozen=True, slots=True)
class NotSent:
    """The transport did not take the last message on this channel: no connection, or it is full."""

    channel: Channel


@dataclass(frozen=True, slots=True)
class Journaled:
    """Reports from `oldest_seq` to `next_seq` - 1 are synced in the journal; only these are ever sent."""

    next_seq: int
    oldest_seq: int = 1


@dataclass(frozen=True, slots=True)
class ReportsFetched:
    """The journal's answer to `FetchReports`: consecutive reports from `first_seq` on, none if it has none."""

    first_seq: int
    reports: tuple[Report, ...]


@dataclass(frozen=True, slots=True)
class RunsChanged:
    """Runs that are new or have another status, and runs whose end was acknowledged.

    A run is named here only once its accept record is synced (reliability rule 13).
    """

    changed: tuple[RunEntry, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodesObserved:
    """Nodes that are new or changed, and names of those that went."""

    upserted: tuple[NodeFacts, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CapacityChanged:
    """How many more runs the executor takes, and the bytes that its journal may still grow by."""

    free_slots: int
    journal_free_bytes: int


@dataclass(frozen=True, slots=True)
class Leave:
    """The process wants to end: say BYE as soon as everything journaled is acknowledged, if there is a session."""


Event: TypeAlias = (
    Tick | Received | NotSent | Journaled | ReportsFetched | RunsChanged | NodesObserved | CapacityChanged | Leave
)


# ---- what is asked for


@dataclass(frozen=True, slots=True)
class Send:
    """Put this message on the wire; if the transport refuses it, hand in `NotSent`."""

    channel: Channel
    message: FromExecutor


@dataclass(frozen=True, slots=True)
class FetchReports:
    """Read reports from the journal: at least one if there is any, at most `max_count`, together at most `max_bytes`
    (see `frames.report_bytes`) where there is more than one. Answer with `ReportsFetched`.
    """  # noqa: D205  one sentence

    first_seq: int
    max_count: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The scheduler has committed every report up to `have`, which may be *less* than before: after a restored store
    the reports from `have` + 1 on are sent again, and count as unacknowledged. Lazily journaled.
    """  # noqa: D205  one sentence

    have: int


@dataclass(frozen=True, slots=True)
class DeadLettered:
    """The scheduler can never apply this report; it was skipped. Keep it aside for a person."""

    seq: int
    code: str


@dataclass(frozen=True, slots=True)
class LeasesOffered:
    """New runs. Journal each one's acceptance, then hand in `RunsChanged`; a run that the journal has ever seen is
    not accepted again.
    """  # noqa: D205  one sentence

    leases: tuple[Lease, ...]


@dataclass(frozen=True, slots=True)
class MayStart:
    """These accepted runs may be started now. Ask `may_start` again right before the pod is created."""

    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KillRuns:
    """End these runs now, and report each end as `killed`. Runs that are not held may be among them."""

    runs: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """A session began. Journal the epoch. `unknown`: runs that the scheduler's store does not have; they go on."""

    epoch: int
    scheduler_boot: str
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionLost:
    """The session ended, by the scheduler's word. A new one is sought unless the phase says otherwise."""

    reason: str


@dataclass(frozen=True, slots=True)
class JournalBehind:
    """The scheduler has reports of this journal that the journal does not have: an old copy of it was put back.

    Going on would use their sequences again. The daemon begins a new journal id.
    """

    have: int


@dataclass(frozen=True, slots=True)
class WentPassive:
    """A newer process has taken over: stop acting on the cluster and exit (code 3)."""


@dataclass(frozen=True, slots=True)
class Left:
    """BYE was handed to the transport: the process may end."""


@dataclass(frozen=True, slots=True)
class Unexpected:
    """Something came that this phase does not expect, or the scheduler refused something of ours. Counted, logged."""

    code: str
    detail: str


Effect: TypeAlias = (
    Send
    | FetchReports
    | Acknowledged
    | DeadLettered
    | LeasesOffered
    | MayStart
    | KillRuns
    | SessionOpened
    | SessionLost
    | JournalBehind
    | WentPassive
    | Left
    | Unexpected
)

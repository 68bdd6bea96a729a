"""What the scheduler's end of the link remembers of each executor, what can happen, and what it asks for.

All values are frozen; `scheduler_side.step` makes new ones. Times are seconds on the monotonic clock of the process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from refloat_common.core.link.frames import Channel, FromExecutor, FromScheduler, Refusal
from refloat_common.core.messages import (
    Heartbeat,
    Hello,
    Lease,
    NodeFacts,
    Report,
    RunEntry,
    RunVerdict,
    Timing,
)


class Phase(Enum):
    """Where an executor's session stands."""

    ABSENT = "absent"
    """No session in this start of the scheduler, or it said BYE."""
    OPENING = "opening"
    """HELLO is complete; the store's transaction is under way."""
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Greeted:
    """A complete hello: its first part's fields, and the runs of all its parts. `peer` is where WELCOME goes."""

    hello: Hello
    runs: tuple[RunEntry, ...]
    peer: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One executor. Sequences are of the journal that its HELLO named.

    `have` is committed, `received` is delivered to the intake, `allowed` the highest sequence that credits ever
    allowed. `attempt` is the newest complete hello of `boot`. `superseded` holds boots that were taken over from.
    """

    executor: str
    phase: Phase = Phase.ABSENT
    boot: str = ""
    attempt: int = 0
    journal: str = ""
    epoch: int = 0
    have: int = 0
    received: int = 0
    allowed: int = 0
    control_peer: bytes = b""
    reports_peer: bytes = b""
    flights: tuple[int, ...] = ()
    """The last sequences of the batches that were delivered and are not committed yet."""
    beat_n: int = 0
    beat_asked_n: int = 0
    """The heartbeat that was passed on and not answered yet; 0 for none."""
    beat_waiting: Heartbeat | None = None
    """The newest heartbeat that came meanwhile."""
    superseded: tuple[str, ...] = ()
    collecting: Greeted | None = None
    parts: int = 0
    opening: Greeted | None = None
    waiting: Greeted | None = None
    nodes_revision: int = 0
    nodes_told: int = 0
    """The revision that the last heartbeat named."""
    nodes_storing: bool = False
    """Node facts were passed on and are not stored yet; others that come meanwhile are asked for again later."""
    nodes_parts: tuple[tuple[NodeFacts, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """How many more errors a connection may make: `left` at `at_s`, growing slowly; nothing is read while muted."""

    left: float
    at_s: float
    muted_until_s: float = 0.0


PeerKey: TypeAlias = tuple[Channel, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Everything that the scheduler's end remembers.

    `secure`: identity comes from keys. `credits` is what each executor may have under way beyond what is committed;
    `busy` tells executors that nothing is committed now.
    """

    boot: str
    timing: Timing
    secure: bool = True
    credits: int = 0
    busy: bool = False
    sessions: Mapping[str, Session] = field(default_factory=dict)
    budgets: Mapping[PeerKey, Budget] = field(default_factory=dict)


# ---- what can happen


@dataclass(frozen=True, slots=True)
class Received:
    """A message came. `peer` and `executor` as in `transport.Arrival`."""

    channel: Channel
    peer: bytes
    executor: str | None
    message: FromExecutor


@dataclass(frozen=True, slots=True)
class Garbled:
    """A frame came that is no message."""

    channel: Channel
    peer: bytes
    executor: str | None
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class SessionGranted:
    """The transaction that `OpenSession` asked for is committed."""

    executor: str
    boot: str
    attempt: int
    epoch: int
    have: int
    verdicts: tuple[RunVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionDenied:
    """The transaction failed for now; the executor will ask again."""

    executor: str
    boot: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Committed:
    """Reports up to `have` are committed. `skipped`: those among them that can never be applied, with a code."""

    executor: str
    epoch: int
    have: int
    skipped: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NotCommitted:
    """What was delivered in this session and not committed is dropped: the executor sends it again."""

    executor: str
    epoch: int


@dataclass(frozen=True, slots=True)
class BeatAnswered:
    """What the leases say to a heartbeat. At most 4,096 kills are sent, the first ones: those of listed runs first."""

    executor: str
    epoch: int
    n: int
    kills: tuple[str, ...] = ()
    want_runs: bool = False


@dataclass(frozen=True, slots=True)
class BeatUnanswered:
    """The heartbeat can't be answered now; what it listed must not start."""

    executor: str
    epoch: int
    n: int


@dataclass(frozen=True, slots=True)
class NodesSettled:
    """What `NodesTold` told is stored, or was lost and must be asked for again."""

    executor: str
    stored: bool


@dataclass(frozen=True, slots=True)
class LeasesOrdered:
    """Send these leases, if there is a session."""

    executor: str
    leases: tuple[Lease, ...]


@dataclass(frozen=True, slots=True)
class KillsOrdered:
    """Send word that these runs have ended, if there is a session."""

    executor: str
    runs: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class FlowSet:
    """What executors may have under way from now on; told with the next acknowledgement."""

    credits: int
    busy: bool


Event: TypeAlias = (
    Received
    | Garbled
    | SessionGranted
    | SessionDenied
    | Committed
    | NotCommitted
    | BeatAnswered
    | BeatUnanswered
    | NodesSettled
    | LeasesOrdered
    | KillsOrdered
    | FlowSet
)


# ---- what is asked for


@dataclass(frozen=True, slots=True)
class Reply:
    """Put this message on the wire to this connection."""

    channel: Channel
    peer: bytes
    message: FromScheduler


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Decide over the runs and give a new epoch, in one transaction; answer with `SessionGranted` or `-Denied`."""

    executor: str
    hello: Hello
    runs: tuple[RunEntry, ...]


@dataclass(frozen=True, slots=True)
class Deliver:
    """Apply these reports: consecutive, and new to this session. Answer with `Committed` or `NotCommitted`."""

    executor: str
    epoch: int
    journal: str
    first_seq: int
    reports: tuple[Report, ...]


@dataclass(frozen=True, slots=True)
class BeatHeard:
    """A heartbeat of a live session. Answer with `BeatAnswered`, or `BeatUnanswered`; only after the first may the
    listed runs start. Each executor has one of these at a time.
    """  # noqa: D205  one sentence

    executor: str
    epoch: int
    beat: Heartbeat


@dataclass(frozen=True, slots=True)
class NodesTold:
    """Node facts; with `full`, nothing else is known any more. Answer with `NodesSettled`."""

    executor: str
    upserted: tuple[NodeFacts, ...]
    removed: tuple[str, ...]
    full: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """The executor is alive: a message of its session was handled just now."""

    executor: str


@dataclass(frozen=True, slots=True)
class Departed:
    """The executor said BYE."""

    executor: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Somebody broke the protocol; nothing changed. `executor` is empty where the sender is nobody known."""

    executor: str
    code: str
    detail: str = ""


Effect: TypeAlias = Reply | OpenSession | Deliver | BeatHeard | NodesTold | Heard | Departed | Fault

"""Names the states of a run at the executor, and holds what is known of one run.

    ACCEPTED ─► WAITING ─► CREATING ─► ACTIVE ─┬─► HELD ──┬─► CLASSIFIED ─► DELETING ─┬─► REPORTED ─► (closed)
                                        ▲      │          │                           └─► STUCK ──┘
                                        ├► VANISHED ──────┴─► REPORTED ─► MARKED ─► RETIRING ─► (closed)
                                               └─► KILLING ─► REPORTED

The upper path is a failure of a Delete category: reported when its pod is gone. The middle one ends every other run:
its pod is kept for a while. A create that is refused goes from CREATING to REPORTED.
"""

from enum import Enum

import msgspec

from refloat_common.core.messages import Lease, RunStatus
from refloat_common.core.pods import Event, Pod
from refloat_executor.core.ledger.values.records import Judgement


class State(Enum):
    """How far a run is. Each says what is journaled and what is awaited."""

    # The enum's own hash is written in Python, and every transition looks several up.
    __hash__ = object.__hash__

    ACCEPTED = "accepted"
    """Lease journaled. Awaits the answer to a heartbeat that listed the run: only then may it start."""
    WAITING = "waiting"
    """May start, but an older run of the job still holds the pod's name and is being removed."""
    CREATING = "creating"
    """A create may have been sent. Awaits its outcome, or that of the read that replaces it."""
    ACTIVE = "active"
    """Its pod has a uid. Awaits an end."""
    HELD = "held"
    """It failed, and something that decides its category may still come: the hold of exit 137, or events."""
    VANISHED = "vanished"
    """Its pod is not seen any more. Awaits a consistent read before that is believed."""
    CLASSIFIED = "classified"
    """Failure journaled, category Delete. Awaits that a DELETE is accepted."""
    DELETING = "deleting"
    """DELETE accepted; the stuck timer runs. Awaits that the pod is gone."""
    STUCK = "stuck"
    """Reported as `internal/stuck-terminating`; deletion goes on. Awaits that the pod is gone."""
    KILLING = "killing"
    """The scheduler ended it. Awaits that the pod is gone."""
    REPORTED = "reported"
    """Its last report is journaled. Awaits the acknowledgement."""
    MARKED = "marked"
    """Acknowledged; its pod is kept. Awaits the end of retention, or that its name is needed."""
    RETIRING = "retiring"
    """Its pod is no longer wanted. Awaits that it is gone."""


class Progress(Enum):
    """The highest phase reported so far; phases are not reported twice."""

    NONE = 0
    PENDING = 1
    RUNNING = 2


class Doing(Enum):
    """Which request of this run is under way or due; there is never more than one."""

    NOTHING = "nothing"
    CREATE = "create"
    READ = "read"
    DELETE = "delete"


class Held(msgspec.Struct, frozen=True):
    """A failure that waits for its judgement: the pod, until when at most, and events once they were read."""

    pod: Pod
    until_s: float
    events: tuple[Event, ...] | None = None
    foreign_delete: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One run. The first block is what the journal says; the second is this process's own and starts empty.

    A struct and not a dataclass, because every transition makes a new one, and copies of structs are ten times cheaper.
    """

    run: str
    job: str
    namespace: str
    name: str
    state: State
    queue: str = ""
    """For display; unknown for a run that was adopted."""
    lease: Lease | None = None
    """Only until the pod is created: specs are large."""
    uid: str = ""
    progress: Progress = Progress.NONE
    judgement: Judgement | None = None
    """Only until its report is journaled."""
    seq: int = 0
    """Sequence of the report that ended the run, or of the GONE that followed it; 0 before."""
    failed: bool = False
    """Whether it ended as failed: its pod is kept longer."""
    gone: bool = False
    """No pod of this run exists: seen by a consistent read, or none was ever created."""
    kill: bool = False
    """Whether the scheduler ordered its end."""
    acked: bool = False
    """Whether its last report was acknowledged."""

    doing: Doing = Doing.NOTHING
    due_s: float | None = None
    failures: int = 0
    create_open_until_s: float = 0.0
    """Until then a create that got no answer may still take effect; nothing is called gone before."""
    refusal: str = ""
    """The API's message of a refused create, while the holder of the name is looked up."""
    version: str = ""
    """resourceVersion of the state that the next DELETE is about; empty if not known."""
    accepted_s: float | None = None
    """When our first DELETE was accepted: the stuck timer's start."""
    denied_s: float | None = None
    """When the API first said that we may not delete this pod."""
    grace_s: int = 0
    """How long its containers may take to end once their deletion was asked for."""
    prompted: bool = False
    """Whether the watch has stopped showing the pod since the read under way began."""
    terminal: bool = False
    """Whether the pod's containers had ended when its deletion began."""
    forced: bool = False
    held: Held | None = None
    last: Pod | None = None
    """The last state seen of a pod that vanished."""
    marked_s: float = 0.0

    @property
    def status(self) -> RunStatus | None:
        """What HELLO and heartbeats say of it; None once its end is acknowledged."""
        return None if self.acked else _STATUS[self.state]

    @property
    def holds_name(self) -> bool:
        """Whether a newer run of the job should wait, because this one's pod is being removed."""
        return self.state in _REMOVING


_STATUS: dict[State, RunStatus] = {
    State.ACCEPTED: RunStatus.ACCEPTED,
    State.WAITING: RunStatus.ACCEPTED,
    State.CREATING: RunStatus.ACTIVE,
    State.ACTIVE: RunStatus.ACTIVE,
    State.HELD: RunStatus.ACTIVE,
    State.VANISHED: RunStatus.ACTIVE,
    State.CLASSIFIED: RunStatus.ACTIVE,
    State.DELETING: RunStatus.ACTIVE,
    State.STUCK: RunStatus.ENDED,
    State.KILLING: RunStatus.ACTIVE,
    State.REPORTED: RunStatus.ENDED,
    State.MARKED: RunStatus.ENDED,
    State.RETIRING: RunStatus.ENDED,
}

_REMOVING = frozenset({State.CLASSIFIED, State.DELETING, State.KILLING, State.RETIRING})

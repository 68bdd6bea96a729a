"""Every message of the link between an executor and the scheduler plugin.

Two socket pairs carry them: *control* (hello, heartbeats, node facts, leases, kills) and *reports*. Each message is a
MessagePack map inside a frame that names its type (see `frames`). Messages that come one at a time are pydantic
models; the two that come in bulk, `Reports` and `Leases`, are msgspec structs, decoded and checked in one pass.
Unknown keys are ignored, so that fields can be added within a version; missing or mistyped ones refuse the message.

Lists that can outgrow one frame (the runs in HELLO, the verdicts in WELCOME, the nodes) are sent in parts, numbered
from 0; all but the last carry `more`, and the message counts as received with its last part.
"""

from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

PROTOCOL_VERSION = 1
"""The only version so far; HELLO carries the range that its sender speaks."""

CAPABILITY_DELETE_ACTION = "delete_action"
"""Held by executors that remove pods of Delete categories before they report (specification, rollout guide)."""

MAX_REPORTS_PER_MESSAGE = 256
MAX_REPORTS_BYTES = 512 * 1024
MAX_LEASES_PER_MESSAGE = 256
MAX_MESSAGE_TEXT_BYTES = 4096
MAX_EXIT_CODES = 32
MAX_FRAME_BYTES = 1 << 20
MAX_RUNS_PER_HELLO = 4096
MAX_NODES_PER_MESSAGE = 512

MAX_LIST_ITEMS = 4096
"""No list of a control message is longer; the decoder refuses longer ones before it makes them."""

Id = Annotated[str, Field(min_length=1, max_length=128)]
Name = Annotated[str, Field(max_length=253)]
Sequence = Annotated[int, Field(ge=0, lt=1 << 63)]


class _Control(BaseModel):
    """Base of the messages that come one at a time.

    Strict: no text is taken for a number, no number for a flag. MessagePack has no enums and no tuples, so the fields
    of these types are lax, as their members are not.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class RunStatus(StrEnum):
    """How far an executor is with a run, as it says in HELLO and in full heartbeats."""

    ACCEPTED = "accepted"
    """The lease is journaled; no pod was created yet."""
    ACTIVE = "active"
    """A pod was created, or its creation was begun, and no end of the run is journaled."""
    ENDED = "ended"
    """The end is journaled; its report is not acknowledged yet."""


class RunEntry(_Control):
    """One run that an executor holds."""

    run: Id
    job: Id
    status: Annotated[RunStatus, Field(strict=False)]
    uid: Name = ""


class Verdict(StrEnum):
    """What the scheduler says of a run that an executor lists in HELLO."""

    KEEP = "KEEP"
    KILL = "KILL"
    UNKNOWN = "UNKNOWN"
    """Not in the store: kept running, as a claim on its job (a restored store must not kill)."""


class RunVerdict(_Control):
    """The verdict over one run."""

    run: Id
    verdict: Annotated[Verdict, Field(strict=False)]


class Hello(_Control):
    """Executor → scheduler: opens a session. Every scheduler start forces a new one.

    `attempt` counts the hellos of this boot, so that a late one can't open a session over a newer one. `oldest_seq`
    is the oldest report that is still held: after a restored store, what lies before it can't be sent again.
    """

    executor: Id
    boot: Id
    journal: Id
    attempt: Sequence = 1
    versions: Annotated[tuple[int, int], Field(strict=False)]
    last_epoch: Sequence
    next_seq: Sequence
    acked_seq: Sequence
    oldest_seq: Sequence = 1
    part: int = Field(default=0, ge=0)
    more: bool = False
    runs: list[RunEntry] = Field(default_factory=list, max_length=MAX_RUNS_PER_HELLO)
    capabilities: list[Name] = Field(default_factory=list, max_length=32)
    node_id_label: Name = ""
    pool: Name = "default"


class Timing(_Control):
    """Timeouts in force, so that the executor's windows follow the scheduler's settings."""

    heartbeat_interval_s: float = Field(gt=0)
    start_window_s: float = Field(gt=0)


class Welcome(_Control):
    """Scheduler → executor: the session is open. `have` is the highest contiguous committed report sequence.

    `attempt` names the hello that is answered. `credits`, here and elsewhere: how many reports beyond the highest
    acknowledged one may be under way; not a sum, so a lost grant costs nothing.
    """

    scheduler_boot: Id
    attempt: Sequence = 1
    epoch: Sequence
    have: Sequence
    part: int = Field(default=0, ge=0)
    more: bool = False
    verdicts: list[RunVerdict] = Field(default_factory=list, max_length=MAX_LIST_ITEMS)
    credits: int = Field(ge=0)
    timing: Timing
    version: int = PROTOCOL_VERSION


class Heartbeat(_Control):
    """Executor → scheduler: alive, and what it holds.

    `runs_count` and `runs_hash` sum up the held runs; `runs` lists them all in every twelfth beat, after a mismatch,
    and names newly accepted ones at once (`listed`), because a pod is created only after a beat that listed its run
    was answered without a kill.
    """

    epoch: Sequence
    n: Sequence
    acked_seq: Sequence
    next_seq: Sequence
    runs_count: int = Field(ge=0)
    runs_hash: Annotated[str, Field(max_length=16)]
    listed: list[Id] = Field(default_factory=list, max_length=MAX_RUNS_PER_HELLO)
    runs: Annotated[list[RunEntry], Field(max_length=MAX_LIST_ITEMS)] | None = None
    free_slots: int = Field(ge=0)
    """How many more runs this executor takes now; 0 while its journal is nearly full."""
    journal_free_bytes: int = Field(ge=0)
    nodes_revision: Sequence = 0


class HeartbeatAck(_Control):
    """Scheduler → executor: answers beat `n`; the executor measures its lease from the *sending* of that beat."""

    epoch: Sequence
    n: Sequence
    kills: list[Id] = Field(default_factory=list, max_length=MAX_LIST_ITEMS)
    credits: int = Field(ge=0)
    busy: bool = False
    want_runs: bool = False
    want_nodes: bool = False


class Kill(_Control):
    """Scheduler → executor: end these runs now (cancelled, preempted or fenced); each end is reported as `killed`."""

    epoch: Sequence
    runs: list[Id] = Field(min_length=1, max_length=MAX_LIST_ITEMS)
    reason: Name = ""


class TaintFact(_Control):
    """A node's taint."""

    key: Name
    value: Name = ""
    effect: Name = ""


class NodeFacts(_Control):
    """What the static-fit probe needs to know of a node; labels are only the tracked ones."""

    name: Name
    labels: dict[str, str] = Field(default_factory=dict)
    allocatable: dict[str, str] = Field(default_factory=dict)
    taints: list[TaintFact] = Field(default_factory=list)
    unschedulable: bool = False


class Nodes(_Control):
    """Executor → scheduler, on change: nodes that were added or changed, and names of those that went.

    `revision` rises by one with each change. With `full`, `upserted` replaces everything known.
    """

    epoch: Sequence
    revision: Sequence
    full: bool = False
    part: int = Field(default=0, ge=0)
    more: bool = False
    upserted: list[NodeFacts] = Field(default_factory=list, max_length=MAX_NODES_PER_MESSAGE)
    removed: list[Name] = Field(default_factory=list, max_length=MAX_LIST_ITEMS)


class Ack(_Control):
    """Scheduler → executor: every report up to `have` is committed. Cumulative; idempotent."""

    epoch: Sequence
    journal: Id
    have: Sequence
    credits: int = Field(ge=0)


class Nack(_Control):
    """Scheduler → executor: the report can never be applied; it goes to the dead letters, and the next one follows."""

    epoch: Sequence
    journal: Id
    seq: Sequence
    permanent: bool
    code: Name


class Stale(_Control):
    """Scheduler → executor: the session of `epoch` is no more; 0 answers a hello. `boot` is the scheduler's.

    `superseded`: a newer process of the same executor has spoken. `revoked`: the key speaks for nobody any more.
    """

    boot: Id
    epoch: Sequence = 0
    reason: Literal["restarted", "superseded", "unknown", "version", "revoked"]


class Refused(_Control):
    """Scheduler → executor: the message just received was refused and changed nothing; `code` says why."""

    code: Name
    detail: Annotated[str, Field(max_length=512)] = ""


class Bye(_Control):
    """Executor → scheduler: a clean end; everything journaled was sent."""

    epoch: Sequence


class ReportKind(StrEnum):
    """What a report says of its run. All but the first two end the run."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RETURNED = "returned"
    """The lease goes back: the pod could not be created for a passing reason. Never decided by the retry engine."""
    KILLED = "killed"
    """Ended because the scheduler said so; the pod is gone."""
    GONE = "gone"
    """The old pod of a run that was reported `internal/stuck-terminating` is gone at last: its name is free."""

    @property
    def ends_run(self) -> bool:
        """Whether nothing but `GONE` may follow."""
        return self not in (ReportKind.PENDING, ReportKind.RUNNING)


Text = Annotated[str, msgspec.Meta(max_length=MAX_MESSAGE_TEXT_BYTES)]
ShortText = Annotated[str, msgspec.Meta(max_length=1024)]
MaxName = Annotated[str, msgspec.Meta(max_length=253)]
Seq = Annotated[int, msgspec.Meta(ge=0, le=(1 << 62))]


class ContainerError(msgspec.Struct, frozen=True, omit_defaults=True):
    """One terminated container, as Armada's `ContainerStatus`."""

    name: MaxName = ""
    exit_code: Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)] = 0
    reason: ShortText = ""
    message: Text = ""
    cause: MaxName = "Error"


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened to a run; its sequence is the message's `first_seq` plus its place in the list.

    Times are UTC milliseconds, for display only. `attempted` is false only where the run never had a pod.
    """

    kind: ReportKind
    run: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    job: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    uid: MaxName = ""
    node: MaxName = ""
    node_label: MaxName = ""
    """The value of the label `nodeIdLabel` on that node: what avoidSameNode avoids."""
    pod_name: MaxName = ""
    namespace: MaxName = ""
    category: MaxName = ""
    subcategory: MaxName = ""
    disposition: MaxName = "Retain"
    cause: MaxName = "Error"
    message: Text = ""
    containers: Annotated[list[ContainerError], msgspec.Meta(max_length=MAX_EXIT_CODES)] = []
    attempted: bool = True
    pod_gone: bool = False
    """Whether a consistent read has shown that the pod's uid is gone, so that the name is free."""
    detected_at_ms: Seq = 0
    gone_at_ms: Seq = 0


class Reports(msgspec.Struct, frozen=True):
    """Executor → scheduler: a batch of reports with consecutive sequences."""

    epoch: Seq
    journal: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    first_seq: Annotated[int, msgspec.Meta(ge=1, le=(1 << 62))]
    reports: Annotated[list[Report], msgspec.Meta(min_length=1, max_length=MAX_REPORTS_PER_MESSAGE)]


class Lease(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run given to an executor. `pod_spec` is Kubernetes JSON, already with every mutation applied."""

    run: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    job: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    queue: MaxName
    job_set: Annotated[str, msgspec.Meta(max_length=1024)]
    namespace: MaxName
    pod_spec: bytes
    owner: MaxName = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    token: Seq = 0
    """The run's ordinal within its job: a fence."""


class Leases(msgspec.Struct, frozen=True):
    """Scheduler → executor: new runs. Sent again until a heartbeat lists them; idempotent by run id."""

    epoch: Seq
    leases: Annotated[list[Lease], msgspec.Meta(max_length=MAX_LEASES_PER_MESSAGE)]

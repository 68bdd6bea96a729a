"""What the scheduler knows of a job and of its runs.

A job has one run at a time; every attempt is a new run with a new id. The whole history stays with the job, because
budgets are counted from it: no counter exists that could disagree with it. Everything here is a value; changes are
new values, made by `reconcile` and `leases` and carried out by the host (see `effects`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from refloat_common.core.ids import ExecutorId, JobId, PodUid, RunId

NO_UID = PodUid("")
"""The uid of a pod that nobody has seen yet."""


class JobState(StrEnum):
    """Where a job stands. The last five end it."""

    QUEUED = "queued"
    LEASED = "leased"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    REJECTED = "rejected"

    @property
    def ended(self) -> bool:
        """Whether nothing may follow."""
        return self not in (JobState.QUEUED, JobState.LEASED)


class RunState(StrEnum):
    """Where a run stands. The first three are active; the others end it.

    A returned or expired lease is a FAILED run; `Run.returned` and the kind of `Run.error` tell them apart, as in
    Armada, whose counting rules need the three facts separately.
    """

    LEASED = "leased"
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"

    @property
    def active(self) -> bool:
        """Whether the run still occupies its executor."""
        return self in (RunState.LEASED, RunState.PENDING, RunState.RUNNING)


class ErrorKind(StrEnum):
    """Why a run or a job ended; the names are those of Armada's `Error.reason`."""

    POD_ERROR = "podError"
    POD_LEASE_RETURNED = "podLeaseReturned"
    LEASE_EXPIRED = "leaseExpired"
    MAX_RUNS_EXCEEDED = "maxRunsExceeded"
    JOB_RUN_PREEMPTED = "jobRunPreemptedError"
    RECONCILIATION_ERROR = "reconciliationError"
    GANG_JOB_UNSCHEDULABLE = "gangJobUnschedulable"
    JOB_REJECTED = "jobRejected"
    KUBERNETES_ERROR = "kubernetesError"
    CONTAINER_ERROR = "containerError"
    EXECUTOR_ERROR = "executorError"


@dataclass(frozen=True, slots=True)
class ContainerResult:
    """How one container of a failed pod ended (Armada's `ContainerStatus`)."""

    name: str = ""
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    cause: str = "Error"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunError:
    """Why a run ended, as it was reported or, for an expiry, as the scheduler found it.

    Category and subcategory are taken over byte for byte from the executor's report. `cause` is one of Armada's
    causes (`taxonomy.Cause`). `disposition` is what the executor does with the failed pod (`taxonomy.Disposition`), and
    `pod_gone` says whether it has seen that the pod's uid is gone.
    """

    kind: ErrorKind
    category: str = ""
    subcategory: str = ""
    message: str = ""
    cause: str = "Error"
    cluster: str = ""
    node: str = ""
    pod: str = ""
    namespace: str = ""
    uid: str = ""
    pod_number: int = 0
    containers: tuple[ContainerResult, ...] = ()
    disposition: str = "Retain"
    pod_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt.

    `ordinal` counts from 1 within the job and is the lease's token; the run with the greatest one is the job's
    latest. `node_label` is the value of the label `nodeIdLabel` on its node, what avoidSameNode avoids; empty while
    unknown. `attempted` turns true once a pod may have existed; an expired run that the executor had acknowledged is
    attempted. `preempted` sticks, whatever else happens to the run. `acknowledged`: the executor has journaled the
    lease, so the lease must not be offered again. Times are UTC milliseconds, for display only; 0 is "not yet".
    """

    run_id: RunId
    job_id: JobId
    ordinal: int
    executor: ExecutorId
    pool: str = "default"
    state: RunState = RunState.LEASED
    node: str = ""
    node_label: str = ""
    pod_uid: PodUid = NO_UID
    acknowledged: bool = False
    attempted: bool = False
    preempted: bool = False
    returned: bool = False
    error: RunError | None = None
    leased_at_ms: int = 0
    running_at_ms: int = 0
    ended_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class MatchExpression:
    """One requirement of a node selector term (`nodeSelectorTerms[].matchExpressions[]` and `.matchFields[]`)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One node selector term: all of its expressions must hold. One with none at all matches no node."""

    expressions: tuple[MatchExpression, ...] = ()
    fields: tuple[MatchExpression, ...] = ()


@dataclass(frozen=True, slots=True)
class Toleration:
    """`spec.tolerations[]`; only what decides whether a node can be used."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a pod asks of any node that could ever hold it: all that the static-fit probe needs.

    `requests` and `limits` are totals over the pod's containers, resource name to Kubernetes quantity text, with the
    memory already grown by earlier retries. `node_terms` is None when the pod has no required node affinity; it
    already holds the nodes to avoid.
    """

    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationRecord:
    """What retries have changed in a job so far; applied to the submitted pod spec whenever a lease is rendered.

    `memory_factor` is the product of all factors (0: none yet), `memory_static` the sum of all fixed amounts as a
    canonical quantity (empty: none yet). At most one of the two is set. `avoid` holds values of the label
    `nodeIdLabel`, sorted. `version` rises by one with each change, as Armada's scheduling info version does.
    """

    memory_factor: float = 0.0
    memory_static: str = ""
    avoid: tuple[str, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that an executor holds although the store does not know it: seen only after a store was restored.

    A queued job with a claim is adopted by that run and never leased anew (reliability rules 3 and 5).
    """

    run_id: RunId
    job_id: JobId
    executor: ExecutorId
    pod_uid: PodUid = NO_UID


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job with its whole run history, oldest run first. The raw pod spec stays with the host.

    `annotations` are the submitted ones; fail-fast and gang membership are read from them. `queued_version` rises by
    one with every lease and every requeue. `hold_for_uid` is set on a queued retry whose predecessor's pod could not
    be removed: nothing may lease the job until that uid is reported gone. `claims` are as in `Claim`: a job that has
    any is not leasable.
    """

    job_id: JobId
    queue: str
    job_set: str
    state: JobState = JobState.QUEUED
    owner: str = ""
    namespace: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0
    submitted_at_ms: int = 0
    ended_at_ms: int = 0
    queued_version: int = 0
    requirements: Requirements = field(default_factory=Requirements)
    record: MutationRecord = field(default_factory=MutationRecord)
    runs: tuple[Run, ...] = ()
    cancel_requested: bool = False
    hold_for_uid: PodUid = NO_UID
    claims: tuple[Claim, ...] = ()

    @property
    def latest_run(self) -> Run | None:
        """The newest attempt; None for a job that was never leased."""
        return self.runs[-1] if self.runs else None

    @property
    def current_run(self) -> Run | None:
        """The run that the job is leased to now; None when it is queued or ended."""
        run = self.latest_run
        return run if run is not None and self.state is JobState.LEASED and run.state.active else None

    @property
    def leasable(self) -> bool:
        """Whether a host may make a new run: queued, not held for an old pod, not claimed, not being cancelled."""
        return self.state is JobState.QUEUED and not self.hold_for_uid and not self.claims and not self.cancel_requested

"""What the core has to tell people: log lines and metric samples, as values that an adapter carries out."""

from dataclasses import dataclass
from enum import Enum, StrEnum


class Level(StrEnum):
    """How loud a note is. An alert is an error that somebody must look at now."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Note:
    """One log line."""

    level: Level
    text: str


class Kind(Enum):
    """How samples of a metric add up: a counter grows by each, a gauge shows the last, a histogram counts by size."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricShape:
    """A metric's name (with Armada's prefix where Armada has it), kind and label names.

    `resets`: cleared every `metrics.jobStateMetricsResetInterval`, as Armada's per-queue metrics are.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    text: str
    resets: bool = False


class Metric(Enum):
    """Every metric that the core's decisions feed."""

    DECISIONS = MetricShape(
        "armada_scheduler_retry_policy_decisions_total",
        Kind.COUNTER,
        ("queue", "pool", "policy", "decision"),
        "Verdicts of the retry engine.",
        resets=True,
    )
    GANG_SKIPPED = MetricShape(
        "armada_scheduler_retry_policy_gang_skipped_total",
        Kind.COUNTER,
        ("policy",),
        "Failures of gang jobs that a policy would have decided.",
    )
    POLICY_REFRESH_FAILED = MetricShape(
        "refloat_policy_refresh_failures_total",
        Kind.COUNTER,
        (),
        "Refreshes of the policy cache that failed; the last good policies are served on.",
    )
    POLICY_SKIPPED = MetricShape(
        "refloat_policy_invalid_skips_total",
        Kind.COUNTER,
        ("policy",),
        "Invalid policies skipped at a refresh; their queues are on legacy behaviour.",
    )
    POLICY_SERVED = MetricShape(
        "refloat_policies_served",
        Kind.GAUGE,
        (),
        "Valid policies in the cache.",
    )
    POLICY_AGE = MetricShape(
        "refloat_policy_cache_age_seconds",
        Kind.GAUGE,
        (),
        "Time since the policies were last read.",
    )
    POLICY_MISSING = MetricShape(
        "refloat_policy_missing_total",
        Kind.COUNTER,
        ("queue", "policy"),
        "Failures that fell back to legacy behaviour because the attached policy is not served.",
    )
    NOT_CAPABLE = MetricShape(
        "refloat_executor_not_capable_total",
        Kind.COUNTER,
        ("executor",),
        "Failures left to legacy behaviour because their executor does not remove failed pods.",
    )
    LATE_REPORTS = MetricShape(
        "refloat_late_reports_total",
        Kind.COUNTER,
        ("executor", "kind"),
        "Reports about runs that no longer count.",
    )
    REPORT_GAPS = MetricShape(
        "refloat_report_gaps_total",
        Kind.COUNTER,
        ("executor",),
        "Batches dropped because earlier reports are missing; they are sent again.",
    )
    LEASES_EXPIRED = MetricShape(
        "refloat_leases_expired_total",
        Kind.COUNTER,
        ("executor",),
        "Runs whose executor was lost.",
    )
    EXECUTOR_STATE = MetricShape(
        "refloat_executor_state",
        Kind.GAUGE,
        ("executor", "state"),
        "1 for the state that an executor is in, 0 for the others.",
    )
    SELF_PRESERVATION = MetricShape(
        "refloat_self_preservation",
        Kind.GAUGE,
        (),
        "1 while so many executors are silent that none is declared lost.",
    )
    LINK_FAULTS = MetricShape(
        "refloat_link_faults_total",
        Kind.COUNTER,
        ("executor", "code"),
        "Messages that broke the protocol and changed nothing.",
    )
    REPLIES_DROPPED = MetricShape(
        "refloat_link_replies_dropped_total",
        Kind.COUNTER,
        (),
        "Answers dropped because too many were waiting; they are asked for again.",
    )
    INTAKE_SECONDS = MetricShape(
        "refloat_intake_commit_seconds",
        Kind.HISTOGRAM,
        (),
        "From the taking up of waiting reports to their commit.",
    )
    INTAKE_LAG = MetricShape(
        "refloat_intake_lag_seconds",
        Kind.HISTOGRAM,
        (),
        "From the arrival of a batch of reports to its commit.",
    )
    REPORTS_WAITING = MetricShape(
        "refloat_intake_reports_waiting",
        Kind.GAUGE,
        (),
        "Reports that have arrived and that no transaction has taken up yet.",
    )
    STORE_SECONDS = MetricShape(
        "refloat_store_transaction_seconds",
        Kind.HISTOGRAM,
        (),
        "Transactions of the host's store, from the request to the answer after the commit.",
    )
    STORE_REFUSALS = MetricShape(
        "refloat_store_refusals_total",
        Kind.COUNTER,
        (),
        "Transactions that the store could not commit; nothing was applied.",
    )
    STORE_UP = MetricShape(
        "refloat_store_up",
        Kind.GAUGE,
        (),
        "0 while the store commits nothing.",
    )
    SILENT_SECONDS = MetricShape(
        "refloat_executor_silent_seconds",
        Kind.GAUGE,
        ("executor",),
        "Time since an executor was last heard.",
    )
    BARRIER_OPEN = MetricShape(
        "refloat_start_barrier_open",
        Kind.GAUGE,
        (),
        "0 while leases wait until every executor with runs has spoken.",
    )
    FLEET_NODES = MetricShape(
        "refloat_fleet_nodes",
        Kind.GAUGE,
        (),
        "Nodes that the static-fit probe looks at.",
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """One observation of a metric."""

    metric: Metric
    labels: tuple[tuple[str, str], ...] = ()
    value: float = 1

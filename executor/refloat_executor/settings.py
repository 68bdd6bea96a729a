"""Every setting of the executor daemon, with unit, default and bounds. Key names are Armada's where it has one."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from refloat_common.core.categories import ErrorCategories
from refloat_common.core.link.keys import is_name
from refloat_common.core.regex import Pattern, UnsupportedPatternError
from refloat_common.core.settings import Duration, FileModel, Flag, Whole

NonNegative = Annotated[Duration, Field(ge=timedelta())]
Positive = Annotated[Duration, Field(gt=timedelta())]
Count = Annotated[Whole, Field(ge=1, le=1_000_000)]
Port = Annotated[Whole, Field(ge=0, le=65535)]
Size = Annotated[Whole, Field(ge=1 << 20)]
"""Bytes, at least 1 MiB."""
Namespace = Annotated[str, Field(max_length=63, pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
"""A name that Kubernetes takes for a namespace."""


def _usable_pattern(source: str) -> str:
    try:
        Pattern(source)
    except UnsupportedPatternError as error:
        raise ValueError(str(error)) from None
    return source


OperatorPattern = Annotated[str, AfterValidator(_usable_pattern)]
"""A pattern that RE2 takes."""


def _executor_name(text: str) -> str:
    if not is_name(text):
        raise ValueError("input should be a name of at most 63 letters, digits, '-', '.' or '_'")
    return text


class ApplicationSettings(FileModel):
    """`application`: who this executor is, how much it takes, and how it names failures."""

    cluster_id: Annotated[str, AfterValidator(_executor_name)]
    """This executor's id, which its key is bound to. One per cluster."""
    pool: str = "default"
    """Written on each pod as the annotation `armadaproject.io/pool`."""
    max_leased_jobs: Count = 100
    """Leases that have no pod yet: no more are taken while so many wait."""
    max_runs: Count = 10_000
    """Runs held at once, in every state up to their acknowledged end."""
    submit_concurrency_limit: Count = 8
    """Creates under way at once."""
    delete_concurrency_limit: Count = 8
    """Deletions, and the reads that confirm them, under way at once."""
    error_categories: ErrorCategories = ErrorCategories()
    """The rules that name failures; usually a file of its own."""


class KubernetesSettings(FileModel):
    """`kubernetes`: the API server, the nodes' labels, and how long pods are kept and waited for."""

    kubeconfig: str = ""
    """A kubeconfig file. Empty: the service account of the executor's own pod."""
    context: str = ""
    """The context in that file. Empty: its current one."""
    strict_tls: Flag = True
    """Off for a cluster whose certificates lack the extensions that Python 3.13 demands."""
    namespaces: tuple[Namespace, ...] = ()
    """The namespaces of jobs. Empty: all, which needs the rights for all."""
    qps: Annotated[float, Field(gt=0, le=100_000, alias="QPS")] = 200.0
    """Requests per second that may be sent over a longer time, watches not counted."""
    burst: Annotated[Whole, Field(ge=1, le=100_000)] = 400
    """Requests that may be sent at once after a quiet time."""
    tracked_node_labels: tuple[str, ...] = ("kubernetes.io/hostname",)
    """Node labels that the scheduler is told. A file that sets this replaces the list."""
    node_id_label: str = "kubernetes.io/hostname"
    """The label whose value a retry avoids; it must be among the tracked ones for that to work."""
    minimum_pod_age: NonNegative = timedelta(minutes=3)
    """A reported pod is kept at least so long after its report was acknowledged."""
    failed_pod_expiry: NonNegative = timedelta(minutes=10)
    """A reported failed pod of a Retain category is kept so long."""
    max_terminated_pods: Annotated[Whole, Field(ge=0)] = 1000
    """Reported pods that are kept at most; the oldest go first."""
    stuck_terminating_pod_expiry: Positive = timedelta(seconds=30)
    """From our first accepted DELETE, and on top of the pod's own grace: then it is reported as stuck."""
    pod_kill_timeout: Positive = timedelta(seconds=30)
    """From our first accepted DELETE, and on top of the grace that it gave: then it is deleted with grace 0."""
    fatal_pod_submission_errors: tuple[OperatorPattern, ...] = ("admission webhook", 'namespaces ".*" not found')
    """A refused create whose message contains one of these fails the run; any other returns its lease."""


class LinkSettings(FileModel):
    """`link`: the scheduler's two addresses, and the keys that prove who speaks."""

    control: str
    """The scheduler's address for heartbeats and leases, as tcp://HOST:PORT."""
    reports: str
    """The scheduler's address for reports, as tcp://HOST:PORT."""
    secret_key: Path | None = None
    """This executor's secret key, as `refloat keys new` wrote it; readable for its owner alone."""
    scheduler_key: Path | None = None
    """The scheduler's public key."""
    insecure: Flag = False
    """No keys at all; only on loopback addresses."""

    @model_validator(mode="after")
    def _keys_or_none(self) -> "LinkSettings":
        keys = (self.secret_key is not None, self.scheduler_key is not None)
        if self.insecure and any(keys):
            raise ValueError("insecure: true, and keys are given too: one of the two is meant")
        if not self.insecure and not all(keys):
            raise ValueError("secretKey and schedulerKey are required (or insecure: true, on loopback)")
        return self


class JournalSettings(FileModel):
    """`journal`: where the executor remembers what it must not forget."""

    path: Path = Path("/var/lib/refloat/executor.journal")
    """The SQLite file. On a local disk that outlives the process; what is lost with it can't be reported."""
    max_bytes: Size = 2 << 30
    """At 80 % of this no leases are taken, at 95 % no pods deleted, until reports are acknowledged."""
    retention: Positive = timedelta(hours=72)
    """Acknowledged reports are kept so long, for a scheduler whose store is restored from a backup."""
    retention_bytes: Size = 256 << 20
    """And no more than so many bytes of them."""


class MetricSettings(FileModel):
    """`metric`: the Prometheus endpoint."""

    port: Port = 9001
    """Serves /metrics. 0: any free port."""


class ExecutorSettings(FileModel):
    """The executor's file."""

    application: ApplicationSettings
    kubernetes: KubernetesSettings = KubernetesSettings()
    link: LinkSettings
    journal: JournalSettings = JournalSettings()
    metric: MetricSettings = MetricSettings()
    http_port: Port = 8080
    """Serves /health and /healthz. 0: any free port."""
    listen_address: str = "0.0.0.0"  # noqa: S104  the kubelet and Prometheus come from outside the pod
    """The address that both ports are opened on."""
    log_level: Annotated[str, Field(pattern="^(debug|info|warning|error)$")] = "info"
    """debug, info, warning or error."""

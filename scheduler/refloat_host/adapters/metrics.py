"""Counts for Prometheus of what the host itself does; the plugin has its own. Labels are few: never a job or a run."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from refloat_common.core.ids import ExecutorId

PREFIX = "refloat_host"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class HostMeters:
    """The host's meters, on a registry that others may share."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._commits = Histogram(
            f"{PREFIX}_store_commit_seconds", "Commits of the store.", buckets=_SECONDS, registry=registry
        )
        self._works = Counter(f"{PREFIX}_store_works", "Transactions, many of which share a commit.", registry=registry)
        self._leases = Counter(f"{PREFIX}_leases", "Leases offered.", ["executor"], registry=registry)

    def commit(self, works: int, seconds: float) -> None:
        """A commit of this many transactions took this long."""
        self._works.inc(works)
        self._commits.observe(seconds)

    def leased(self, executor: ExecutorId, count: int) -> None:
        """An executor was offered leases."""
        self._leases.labels(executor).inc(count)


class ApiMeters:
    """The management API's meter."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            f"{PREFIX}_api_calls",
            "Calls of the management API that have ended.",
            ["method", "status"],
            registry=registry,
        )

    def answered(self, method: str, status: str) -> None:
        """A call has ended; `status` is gRPC's name for how."""
        self._calls.labels(method, status).inc()

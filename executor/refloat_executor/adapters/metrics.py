"""Counts for Prometheus, under Armada's names where it has one. Labels are few: never a job, run, pod or node."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, start_http_server

PREFIX = "armada_executor"
OWN_PREFIX = "refloat_executor"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_OVERDUE_S = (0, 10, 15, 20, 30, 45, 60, 75, 90, 120, 300)
MAX_CATEGORIES = 500
"""Pairs of category and subcategory that get a series of their own: rules are an operator's, but series cost memory."""


class PrometheusMeters:
    """The daemon's meters; see `daemon.ports.Meters`."""

    def __init__(self, pool: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library's own
        self.registry = CollectorRegistry()
        self._pool = pool
        self._pairs: set[tuple[str, str]] = set()
        self._gauges: dict[str, Gauge] = {}
        # Armada's names and labels.
        self._failures = self._counter(
            f"{PREFIX}_job_failure_category",
            "Failures and returned leases with a category, as journaled for their report.",
            "failure_category",
            "failure_subcategory",
        )
        self._forced = self._counter(f"{PREFIX}_pod_force_deleted", "Deletions with grace 0.", "pool")
        self._overdue = self._histogram(
            f"{PREFIX}_pod_termination_overdue_seconds", "How long pods outlived their grace.", _OVERDUE_S, "pool"
        )
        self._in_grace = self._counter(
            f"{PREFIX}_pod_terminated_within_grace_period", "Pods that went within their grace.", "pool"
        )
        self._phase = Gauge(
            f"{PREFIX}_run_phase", "Runs by their state in the ledger.", ["queue", "phase"], registry=self.registry
        )
        # Refloat's own.
        self._calls = self._histogram(
            f"{OWN_PREFIX}_kube_request_seconds", "Requests to the API server but watches.", _SECONDS, "verb", "outcome"
        )
        self._commits = self._histogram(f"{OWN_PREFIX}_journal_commit_seconds", "Commits of the journal.", _SECONDS)
        self._records = self._counter(f"{OWN_PREFIX}_journal_records", "Records written to the journal.")
        self._lists = self._counter(f"{OWN_PREFIX}_lists", "Lists begun: at the start, and after gaps.", "what")
        self._unexpected = self._counter(f"{OWN_PREFIX}_unexpected", "What should not have come, by kind.", "what")

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(name, meaning, labels, buckets=buckets, registry=self.registry)

    def failure(self, category: str, subcategory: str) -> None:
        """See `Meters.failure`. Beyond `MAX_CATEGORIES` pairs the rest count as `other`."""
        pair = (category, subcategory)
        if pair not in self._pairs and len(self._pairs) >= MAX_CATEGORIES:
            pair = ("other", "")
        self._pairs.add(pair)
        self._failures.labels(*pair).inc()

    def forced_delete(self) -> None:
        """See `Meters.forced_delete`."""
        self._forced.labels(self._pool).inc()

    def pod_gone(self, overdue_s: float) -> None:
        """See `Meters.pod_gone`."""
        if overdue_s <= 0:
            self._in_grace.labels(self._pool).inc()
        else:
            self._overdue.labels(self._pool).observe(overdue_s)

    def kube_call(self, verb: str, outcome: str, seconds: float) -> None:
        """See `Meters.kube_call`."""
        self._calls.labels(verb, outcome).observe(seconds)

    def commit(self, records: int, seconds: float) -> None:
        """See `Meters.commit`."""
        self._commits.observe(seconds)
        self._records.inc(records)

    def relist(self, what: str) -> None:
        """See `Meters.relist`."""
        self._lists.labels(what).inc()

    def gauges(self, values: Mapping[str, float]) -> None:
        """See `Meters.gauges`."""
        for name, value in values.items():
            gauge = self._gauges.get(name)
            if gauge is None:
                gauge = self._gauges[name] = Gauge(
                    f"{OWN_PREFIX}_{name}", name.replace("_", " "), registry=self.registry
                )
            gauge.set(value)

    def phases(self, counts: Mapping[tuple[str, str], int]) -> None:
        """See `Meters.phases`."""
        self._phase.clear()
        for (queue, phase), count in counts.items():
            self._phase.labels(queue, phase).set(count)

    def unexpected(self, what: str) -> None:
        """See `Meters.unexpected`."""
        self._unexpected.labels(what).inc()


@contextmanager
def serve_metrics(address: str, port: int, registry: CollectorRegistry) -> Iterator[int]:
    """Serve /metrics from a thread of its own, so that a scrape never holds the loop; gives the port.

    Raises:
        OSError: the address can't be listened on.
    """
    server, thread = start_http_server(port, address, registry)
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Puts the core's samples on a Prometheus registry, and clears those that are reset now and then."""

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from refloat_scheduler.core.signals import Kind, Metric, Sample

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Meter = Counter | Gauge | Histogram


class PrometheusMeters:
    """All meters of the plugin. `reset_after_s` is `metrics.jobStateMetricsResetInterval`."""

    def __init__(self, registry: CollectorRegistry, reset_after_s: float, now_s: float) -> None:
        self._meters = {metric: _meter(metric, registry) for metric in Metric}
        self._reset_after_s = reset_after_s
        self._reset_at_s = now_s + reset_after_s

    def emit(self, samples: Iterable[Sample]) -> None:
        """Count these samples."""
        for sample in samples:
            meter = self._meters[sample.metric]
            labels = dict(sample.labels)
            child = meter.labels(*(labels[name] for name in sample.metric.value.labels)) if labels else meter
            if isinstance(child, Counter):
                child.inc(sample.value)
            elif isinstance(child, Gauge):
                child.set(sample.value)
            else:
                child.observe(sample.value)

    def reset_if_due(self, now_s: float) -> None:
        """Begin the resettable counters anew once their interval is over."""
        if now_s < self._reset_at_s:
            return
        self._reset_at_s = now_s + self._reset_after_s
        for metric, meter in self._meters.items():
            if metric.value.resets:
                meter.clear()


def _meter(metric: Metric, registry: CollectorRegistry) -> Meter:
    shape = metric.value
    match shape.kind:
        case Kind.COUNTER:
            return Counter(shape.name.removesuffix("_total"), shape.text, shape.labels, registry=registry)
        case Kind.GAUGE:
            return Gauge(shape.name, shape.text, shape.labels, registry=registry)
        case Kind.HISTOGRAM:
            return Histogram(shape.name, shape.text, shape.labels, registry=registry, buckets=_SECONDS)

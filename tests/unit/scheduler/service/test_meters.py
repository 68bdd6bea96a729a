"""What the plugin measures: names, labels, and which counters begin anew now and then."""

from dataclasses import replace

import anyio
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from refloat_common.core.ids import JobId
from refloat_common.core.messages import ReportKind
from refloat_common.core.taxonomy import ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_scheduler.adapters.metrics import PrometheusMeters
from refloat_scheduler.core.signals import Kind, Metric, Sample
from refloat_scheduler.service.contract import PolicyDocument
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import ENGINE_ON, Play, PlayedExecutor, play

DECISIONS = "armada_scheduler_retry_policy_decisions_total"
GANGS = "armada_scheduler_retry_policy_gang_skipped_total"
LABELS = {"queue": "queue-a", "pool": "default", "policy": "p", "decision": "retry"}
OTHER = JobId("job-b")


async def decided(p: Play) -> PlayedExecutor:
    """One engine retry, and one gang that was passed over."""
    gang = {ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "2"}
    run = replace(run_of(2), job_id=OTHER)
    p.host.contents.jobs.update({JOB: job_of(run_of(1)), OTHER: job_of(run, job_id=OTHER, annotations=gang)})
    p.host.contents.queues["queue-a"] = ("p",)
    rule = {"action": "Retry", "onCategory": "oom"}
    p.host.policies.append(PolicyDocument("p", {"retryLimit": 3, "defaultAction": "Fail", "rules": [rule]}))
    await p.start()
    east = p.executor()
    await east.hello(entry_of("run-1"), entry_of("run-2", job=OTHER))
    await east.acknowledged(report_of(ReportKind.FAILED), report_of(ReportKind.FAILED, "run-2", job=OTHER))
    return east


def test_decisions_begin_anew_after_the_reset_interval_and_gang_skips_do_not() -> None:
    async def scenario(p: Play) -> None:
        await decided(p)
        assert (p.metric(DECISIONS, **LABELS), p.metric(GANGS, policy="p")) == (1, 1)
        await anyio.sleep(3600 - 30)
        assert p.metric(DECISIONS, **LABELS) == 1
        await anyio.sleep(60)
        assert (p.metric(DECISIONS, **LABELS), p.metric(GANGS, policy="p")) == (None, 1)

    play(scenario, {**ENGINE_ON, "metrics": {"jobStateMetricsResetInterval": "1h"}})


def test_how_the_intake_and_the_store_fare_is_measured() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        east = p.executor()
        await east.hello()
        p.host.before_s = p.host.after_s = 1.5
        east.report(report_of(ReportKind.RUNNING, "run-x"))
        await anyio.sleep(1)
        east.report(report_of(ReportKind.RUNNING, "run-x"))
        await p.until(lambda: p.metric("refloat_intake_reports_waiting") == 1, 3)
        await p.until(lambda: p.metric("refloat_intake_lag_seconds_count") == 2)
        lag_s = p.metric("refloat_intake_lag_seconds_sum") or 0
        assert lag_s == pytest.approx(3 + 5, abs=0.2)
        assert p.metric("refloat_intake_reports_waiting") == 0
        slow = p.metric("refloat_store_transaction_seconds_bucket", le="2.5")
        total = p.metric("refloat_store_transaction_seconds_count")
        assert total is not None
        assert slow is not None
        assert total - slow == 2
        assert p.metric("refloat_store_up") == 1
        p.host.down = True
        east.report(report_of(ReportKind.RUNNING, "run-x"))
        await p.until(lambda: p.metric("refloat_store_up") == 0)
        assert p.metric("refloat_store_refusals_total") == 1

    play(scenario)


def test_how_long_each_executor_has_been_silent_is_shown() -> None:
    async def scenario(p: Play) -> None:
        await p.start()
        east = p.executor()
        await east.hello()
        await anyio.sleep(42)
        assert p.metric("refloat_executor_silent_seconds", executor="exec-1") == pytest.approx(42, abs=1.1)
        assert p.metric("refloat_start_barrier_open") == 1
        await east.answered()
        await anyio.sleep(1)
        assert p.metric("refloat_executor_silent_seconds", executor="exec-1") == pytest.approx(0, abs=1.1)

    play(scenario)


@pytest.mark.parametrize("metric", Metric, ids=lambda metric: metric.name.lower())
def test_every_metric_is_shown_under_its_name_with_its_labels(metric: Metric) -> None:
    registry, shape = CollectorRegistry(), metric.value
    meters = PrometheusMeters(registry, 60.0, 0.0)
    meters.emit([Sample(metric, tuple((label, f"a-{label}") for label in shape.labels), 3.0)])
    name = f"{shape.name}_count" if shape.kind is Kind.HISTOGRAM else shape.name
    value = 1.0 if shape.kind is Kind.HISTOGRAM else 3.0
    assert registry.get_sample_value(name, {label: f"a-{label}" for label in shape.labels}) == value
    assert shape.text in generate_latest(registry).decode()


def test_the_names_and_labels_of_the_specification() -> None:
    decisions, gangs = Metric.DECISIONS.value, Metric.GANG_SKIPPED.value
    assert (decisions.name, decisions.labels, decisions.resets) == (
        DECISIONS,
        ("queue", "pool", "policy", "decision"),
        True,
    )
    assert (gangs.name, gangs.labels, gangs.resets) == (GANGS, ("policy",), False)


def test_no_metric_has_a_label_for_each_job() -> None:
    assert not {"run", "job", "node"} & {label for metric in Metric for label in metric.value.labels}

"""What others see of the daemon: health, metrics, log, dead letters."""

import io
import json
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from refloat_common.adapters.logs import JsonLog
from refloat_common.core.messages import Report, ReportKind
from refloat_executor.adapters.health import PortTakenError, serve_health
from refloat_executor.adapters.metrics import MAX_CATEGORIES, PrometheusMeters, serve_metrics
from refloat_executor.daemon.process import dead_letters


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize(("healthy", "status"), [(True, 204), (False, 503)])
async def test_health(status: int, *, healthy: bool) -> None:
    async with serve_health("127.0.0.1", 0, lambda: healthy) as port, aiohttp.ClientSession() as session:
        for path in ("/health", "/healthz"):
            async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                assert response.status == status


@pytest.mark.anyio
async def test_a_port_that_is_taken_is_named() -> None:
    async with serve_health("127.0.0.1", 0, lambda: True) as port:
        with pytest.raises(PortTakenError, match=f"health can't be served on 127.0.0.1:{port}: "):
            async with serve_health("127.0.0.1", port, lambda: True):
                raise AssertionError("it was not taken")


def scrape(meters: PrometheusMeters) -> dict[str, float]:
    with serve_metrics("127.0.0.1", 0, meters.registry) as port:
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_metrics_under_armadas_names() -> None:
    meters = PrometheusMeters("gpu")
    meters.failure("oom", "")
    meters.failure("oom", "")
    meters.forced_delete()
    meters.pod_gone(-1.0)
    meters.pod_gone(12.0)
    meters.phases({("q", "active"): 3})
    meters.kube_call("get", "done", 0.002)
    meters.commit(7, 0.004)
    meters.relist("pods")
    meters.gauges({"pods": 5})
    meters.unexpected("frame-version")
    seen = scrape(meters)
    expected = {
        'armada_executor_job_failure_category_total{failure_category="oom",failure_subcategory=""}': 2,
        'armada_executor_pod_force_deleted_total{pool="gpu"}': 1,
        'armada_executor_pod_terminated_within_grace_period_total{pool="gpu"}': 1,
        'armada_executor_pod_termination_overdue_seconds_bucket{le="10.0",pool="gpu"}': 0,
        'armada_executor_pod_termination_overdue_seconds_bucket{le="15.0",pool="gpu"}': 1,
        'armada_executor_run_phase{phase="active",queue="q"}': 3,
        'refloat_executor_kube_request_seconds_count{outcome="done",verb="get"}': 1,
        "refloat_executor_journal_records_total": 7,
        'refloat_executor_lists_total{what="pods"}': 1,
        "refloat_executor_pods": 5,
        'refloat_executor_unexpected_total{what="frame-version"}': 1,
    }
    assert {name: seen.get(name) for name in expected} == expected


def test_states_that_are_left_disappear() -> None:
    meters = PrometheusMeters("gpu")
    meters.phases({("q", "active"): 3})
    meters.phases({("q", "reported"): 1})
    assert [name for name in scrape(meters) if "run_phase" in name] == [
        'armada_executor_run_phase{phase="reported",queue="q"}'
    ]


def test_categories_can_not_fill_the_memory() -> None:
    meters = PrometheusMeters("gpu")
    for n in range(MAX_CATEGORIES + 50):
        meters.failure(f"category-{n}", "")
    series = {name: value for name, value in scrape(meters).items() if "failure_category_total" in name}
    assert len(series) == MAX_CATEGORIES + 1
    other = 'armada_executor_job_failure_category_total{failure_category="other",failure_subcategory=""}'
    assert series[other] == 50


def log_lines(level: str, *calls: tuple[str, str, dict[str, object]]) -> list[dict[str, object]]:
    stream = io.StringIO()
    log = JsonLog("executor", level, stream, lambda: datetime(2026, 11, 30, 12, tzinfo=UTC))
    for call in calls:
        log(*call)
    assert stream.getvalue().isascii()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_log_line() -> None:
    (line,) = log_lines("info", ("warning", "it failed", {"run": "r1", "count": 3, "path": Path("/x"), "level": "no"}))
    assert line == {
        "time": "2026-11-30T12:00:00.000+00:00",
        "level": "warning",
        "component": "executor",
        "message": "it failed",
        "run": "r1",
        "count": 3,
        "path": "/x",
    }


def test_what_is_not_grave_enough_is_left_out() -> None:
    calls: list[tuple[str, str, dict[str, object]]] = [(level, level, {}) for level in ("debug", "info", "error")]
    assert [line["message"] for line in log_lines("info", *calls)] == ["info", "error"]


def test_what_people_write_commands_no_terminal() -> None:
    evil = "\x1b[2J\u202egnp.exe\u2028\x9b \ud800" + "x" * 9000
    (line,) = log_lines("info", ("info", evil, {"text": evil}))
    assert len(str(line["text"])) == 4096


def test_a_stream_that_is_gone_stops_nobody() -> None:
    stream = io.StringIO()
    stream.close()
    JsonLog("executor", "info", stream)("info", "x", {})


def test_dead_letters_are_kept_beside_the_journal(tmp_path: Path) -> None:
    keep = dead_letters(tmp_path / "executor.journal")
    keep(7, "bad", Report(kind=ReportKind.FAILED, run="r", job="j"))
    keep(8, "worse", Report(kind=ReportKind.FAILED, run="s", job="j"))
    lines = (tmp_path / "executor.journal.dead-letters.jsonl").read_text().splitlines()
    assert [(json.loads(line)["seq"], json.loads(line)["report"]["run"]) for line in lines] == [(7, "r"), (8, "s")]

"""docs/hosts.md quotes its example word for word, and the example carries the plugin through a failure and a retry."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import NodeFacts, Report, ReportKind
from refloat_scheduler.service.contract import PolicyDocument
from testkit.scheduling.plugin import Play, play
from testkit.style.tree import ROOT

PAGE = ROOT / "docs" / "hosts.md"
EXAMPLE = ROOT / "docs" / "examples" / "shelf_host.py"
POD: JsonObject = {"containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"memory": "1Gi"}}}]}
GROW: JsonObject = {"action": "Retry", "onCategory": "oom", "mutate": {"resources": {"memory": {"factor": 2.0}}}}


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shelf_host", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_quotation_stands_in_the_example() -> None:
    quotations = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(quotations) == 3
    assert [quotation for quotation in quotations if quotation not in EXAMPLE.read_text()] == []


def test_a_failed_job_is_retried_on_the_host_of_the_example(tmp_path: Path) -> None:
    async def scenario(p: Play) -> None:
        with example().opened(tmp_path) as subject:
            p.host = subject.host
            await subject.put_policy(PolicyDocument("p", {"retryLimit": 1, "defaultAction": "Fail", "rules": [GROW]}))
            await subject.put_queue("q", ("p",))
            await p.start()
            east = p.executor()
            await east.hello()
            east.tell_nodes(NodeFacts(name="node-1", allocatable={"memory": "8Gi"}))
            await east.answered()
            job_id = await subject.submit("q", "s", POD)
            for attempt in (1, 2):
                await p.until(lambda: p.view().may_lease)
                [lease] = await subject.lease_round(p.plugin.executors())
                p.lease(lease)
                await east.answered(lease.run)
                await east.acknowledged(
                    Report(kind=ReportKind.FAILED, run=lease.run, job=job_id, category="oom", pod_gone=True)
                )
                assert (b'"memory":"2Gi"' in lease.pod_spec) is (attempt == 2)
            told = [(event.NAME, getattr(event, "retryable", None)) for event in await subject.stream("q", "s")]
            assert told == [
                ("submitted", None),
                ("queued", None),
                ("leased", None),
                ("failed", True),
                ("leased", None),
                ("failed", False),
            ]

    play(scenario)

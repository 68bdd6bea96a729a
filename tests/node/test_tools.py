"""What is shown and measured on a real node: `make node-demo` and `make node-latency`, on the cluster of the tests."""

import json
import signal
from pathlib import Path

import pytest

from node_tools import demo, latency
from node_tools.stages import STAGES, durations, summary
from testkit.live.product import NAMESPACE
from testkit.real_kube import RealNode

pytestmark = pytest.mark.node


def test_the_demo_kills_the_executor_and_every_job_ends_as_its_script_says(
    real_node: RealNode, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    code = demo.play_on(real_node, demo.arguments(["--output", "json"]))
    signal.signal(signal.SIGTERM, before)
    told = json.loads(capsys.readouterr().out)
    real_node.api.wipe_pods(NAMESPACE)
    assert (code, told["ok"], told["unexpected"]) == (0, True, [])
    assert told["categories"]["oom"] == {
        "failures": 4, "deleted": 4, "confirmed_gone": 4, "retries": 3, "terminal": 1
    }  # fmt: skip
    assert told["executors"]["cluster-1"]["kills"] == 1


def test_the_stages_of_a_retry_are_measured(real_node: RealNode, tmp_path: Path) -> None:
    retries = latency.measure_on(real_node, tmp_path, 2)
    real_node.api.wipe_pods(NAMESPACE)
    assert [list(durations(retry)) for retry in retries] == [[*STAGES, "failed_to_created"]] * 2
    # Not its speed: that is measured where nothing else runs. But nothing waits for a tick of ten seconds.
    assert all(0 < durations(retry)["failed_to_created"] < 8 for retry in retries)
    assert summary(retries)["retries"] == 2

"""Real processes, killed with SIGKILL at every named place and started again: nothing lost, doubled or renamed."""

import signal
from pathlib import Path

import pytest

from refloat_cli.demo.judge import Cleared, complaints
from refloat_cli.demo.processes.crew import python_module
from refloat_cli.demo.scenario import Scenario, plan
from refloat_common.adapters.failpoints import NAMES
from refloat_common.core.settings import parse_settings
from testkit.processes import CLUSTER, HOST, System

OOM = {"cases": [{"when": {"memoryBelow": "100Mi"}, "outcome": "oom"}, {"outcome": "succeed"}]}
SCENARIO = parse_settings(
    Scenario,
    {
        "policies": [
            {
                "name": "careful",
                "retryLimit": 2,
                "defaultAction": "Fail",
                "rules": [{"action": "Retry", "onCategory": "oom", "mutate": {"resources": {"memory": {"factor": 2}}}}],
            }
        ],
        "queues": [{"name": "training", "policy": "careful"}],
        "kinds": [
            {
                "name": "oom",
                "queue": "training",
                "jobs": [{"script": OOM, "expect": {"state": "succeeded", "failures": ["oom"]}}],
            },
            {
                "name": "mistake",
                "queue": "training",
                "jobs": [
                    {
                        "script": {"outcome": "exit", "code": 127, "afterMs": 200},
                        "expect": {"state": "failed", "failures": ["user-error/command"]},
                    }
                ],
            },
            {"name": "fine", "queue": "training", "jobs": [{"expect": {"state": "succeeded"}}]},
        ],
    },
)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("failpoint", NAMES)
def test_a_kill_at_a_named_place_loses_and_doubles_nothing(failpoint: str, tmp_path: Path) -> None:
    planned = plan(SCENARIO, 6)
    victim = HOST if failpoint.startswith("host.") else CLUSTER
    system = System.prepare(tmp_path, SCENARIO, planned)
    try:
        for name in (HOST, CLUSTER):
            system.start(name, failpoint if name == victim else "")
        system.wait(lambda it: it.exit_code(victim) is not None, within_s=60, what=f"{victim} reaches {failpoint}")
        assert system.exit_code(victim) == -signal.SIGKILL
        before = system.journaled_categories() if victim == CLUSTER else {}
        system.start(victim)
        # On a busy machine the host may take many seconds to start, and ZeroMQ then tries again at up to 30 s.
        system.wait(lambda it: it.all_ended, within_s=100, what="every job ends")
        codes = system.crew.stop([CLUSTER, HOST])
        system.listen()
        reports = system.reported_failures()
        told = system.told_categories()
    finally:
        system.close()
    assert codes == {CLUSTER: 0, HOST: 0}
    cleared = [
        Cleared(one.run, one.category, deleted=one.disposition == "Delete", gone=one.pod_gone) for one in reports
    ]
    assert complaints(planned, system.courses, cleared) == []
    assert {report.run: (report.category, report.subcategory) for report in reports} == told
    assert before.items() <= told.items()
    assert system.verdict_runs() == sorted(told)


def test_a_failpoint_is_refused_where_no_test_is_meant(tmp_path: Path) -> None:
    system = System.prepare(tmp_path, SCENARIO, plan(SCENARIO, 1))
    try:
        files = ("--config", str(system.layout.executor_config(CLUSTER)))
        environment = {"REFLOAT_FAILPOINT": "executor.classified", "REFLOAT_TESTING": ""}
        system.crew.start("refused", python_module("refloat_cli.main", "executor", "run", *files), environment)
        system.wait(lambda it: it.exit_code("refused") is not None, within_s=15, what="the refusal")
        assert system.exit_code("refused") == 1
        assert "crashes on purpose only where REFLOAT_TESTING=1" in (tmp_path / "refused.log").read_text()
    finally:
        system.close()

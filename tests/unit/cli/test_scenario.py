"""A scenario becomes jobs: as many as asked for, in proportion, gangs whole, scripts for the kubelets alone."""

import json
from collections import Counter

import pytest

from refloat_cli.demo.scenario import SCRIPT_ANNOTATION, Scenario, load_scenario, plan
from refloat_common.core.settings import SettingsError, parse_settings
from testkit.style.tree import ROOT

SHIPPED = ROOT / "configs" / "demo" / "scenario.yaml"


def _scenario(**changes: object) -> Scenario:
    kind = {"name": "fine", "queue": "q", "jobs": [{"expect": {"state": "succeeded"}}]}
    return parse_settings(Scenario, {"queues": [{"name": "q"}], "kinds": [kind], **changes})


def _kind(name: str = "fine", queue: str = "q", **part: object) -> dict[str, object]:
    return {"name": name, "queue": queue, "jobs": [{"expect": {"state": "succeeded"}, **part}]}


@pytest.mark.parametrize(("asked", "made"), [(1, 8), (60, 60), (61, 61), (1000, 1000)])
def test_the_shipped_scenario_makes_as_many_jobs_as_asked_for(asked: int, made: int) -> None:
    jobs = plan(load_scenario(SHIPPED), asked)
    assert len(jobs) == made
    assert len({job.name for job in jobs}) == made


def test_every_kind_of_failure_is_in_the_shipped_scenario() -> None:
    jobs = plan(load_scenario(SHIPPED), 40)
    kinds = Counter(job.name.split("-")[0] for job in jobs)
    assert set(kinds) == {"fine", "oom", "bad", "user", "hopeless", "fail", "gang"}
    assert {job.expect.state for job in jobs} == {"succeeded", "failed"}


def test_a_script_goes_to_the_kubelets_and_a_gang_is_marked() -> None:
    first, second = plan(
        _scenario(
            kinds=[
                {
                    "name": "pair",
                    "queue": "q",
                    "jobs": [
                        {"script": {"outcome": "oom"}, "memory": "1Gi", "expect": {"state": "failed"}},
                        {"script": "succeed", "expect": {"state": "succeeded"}},
                    ],
                }
            ]
        ),
        1,
    )
    gang = {"armadaproject.io/gangId": "pair-1", "armadaproject.io/gangCardinality": "2"}
    assert (first.name, second.name) == ("pair-1-a", "pair-1-b")
    assert first.annotations == {**gang, SCRIPT_ANNOTATION: '{"outcome":"oom"}'}
    assert second.annotations == {**gang, SCRIPT_ANNOTATION: "succeed"}
    assert '"memory": "1Gi"' in json.dumps(first.pod_spec())
    assert "expect" not in json.dumps(first.pod_spec())


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"kinds": []}, "kinds"),
        ({"kinds": [{"name": "Bad Name", "queue": "q", "jobs": []}]}, "kinds[0].name"),
        (
            {"kinds": [{"name": "a", "queue": "q", "jobs": [{"expect": {"state": "won"}}]}]},
            "kinds[0].jobs[0].expect.state",
        ),
        ({"kinds": [_kind(script="explode")]}, "kinds[0].jobs[0].script"),
        ({"kinds": [_kind(script={"outcome": "explode"})]}, "kinds[0].jobs[0].script"),
        ({"kinds": [_kind(memory="lots")]}, "kinds[0].jobs[0].memory"),
        ({"policies": [{"name": "p", "rules": [{"action": "Fali"}]}]}, "policies[0]"),
        ({"policies": [{"name": "p"}]}, "policies[0]"),
    ],
)
def test_a_wrong_scenario_is_refused_with_the_path(changes: dict[str, object], path: str) -> None:
    with pytest.raises(SettingsError) as refused:
        _scenario(**changes)
    assert refused.value.path == path


POLICY = {"name": "p", "retryLimit": 1, "defaultAction": "Retry"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"queues": [{"name": "q", "policy": "no"}]}, "queues[0].policy: no policy is named 'no'"),
        ({"kinds": [_kind(), _kind(queue="no", name="b")]}, "kinds[1].queue: no queue is named 'no'"),
        ({"kinds": [_kind(), _kind()]}, "kinds[1].name: 'fine' is there twice"),
        ({"queues": [{"name": "q"}, {"name": "q"}]}, "queues[1].name: 'q' is there twice"),
        ({"policies": [POLICY, POLICY]}, "policies[1].name: 'p' is there twice"),
    ],
)
def test_names_must_fit_together(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(SettingsError) as refused:
        _scenario(**changes)
    assert str(refused.value) == complaint

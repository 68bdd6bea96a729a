"""Which submissions are refused, with the path and the value; and what happens to gangs."""

from collections.abc import Mapping

import pytest

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_host.core.errors import InvalidFieldError
from refloat_host.core.submission import Accepted, Submission, checked
from testkit.host.values import pod_spec

FAIL_FAST = "armadaproject.io/failFast"


def accept(*submissions: Submission, job_set: str = "s", owner: str = "") -> tuple[Accepted, ...]:
    return checked(submissions, job_set=job_set, owner=owner)


def container(**fields: JsonValue) -> JsonObject:
    return {"name": "main", **fields}


def resources(requests: Mapping[str, JsonValue], limits: Mapping[str, JsonValue]) -> JsonObject:
    return {"containers": [container(resources={"requests": requests, "limits": limits})]}


def gang(cardinality: str, gang_id: str = "g", **more: str) -> Submission:
    annotations = {"armadaproject.io/gangId": gang_id, "armadaproject.io/gangCardinality": cardinality, **more}
    return Submission(pod_spec=pod_spec(), annotations=annotations)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "containers: None must hold at least one container"),
        ({"containers": []}, "containers: .* must hold at least one container"),
        ({"containers": "main"}, "containers: expected a list"),
        ({"containers": ["main"]}, r"containers\[0\]: expected an object"),
        ({"containers": [{}]}, r"containers\[0\]\.name: None is no name of a container"),
        ({"containers": [{"name": "Main"}]}, "name: 'Main' is no name of a container"),
        ({"containers": [container(), container()]}, "containers: 'main' is the name of two containers"),
        ({"containers": [container()], "initContainers": [container()]}, "'main' is the name of two containers"),
        (resources({"memory": "1 GB"}, {}), r'resources\.requests\.memory: "1 GB" is no quantity'),
        (resources({"cpu": True}, {}), r"resources\.requests\.cpu: expected a quantity"),
        (resources({"cpu": "-1"}, {}), r'requests\.cpu: "-1" is negative'),
        (resources({}, {"cpu": "-1"}), r'\.cpu: "-1" is negative'),
        (resources({"memory": "2Gi"}, {"memory": "1Gi"}), r'requests\.memory: "2Gi" is more than its limit "1Gi"'),
        ({"containers": [container()], "nodeSelector": {"a": 1}}, r"nodeSelector\.a: expected a string"),
        ({"containers": [container(env=["x" * 66_000])]}, ": '66043 bytes' must be at most 65535 bytes of JSON"),
    ],
)
def test_a_pod_that_kubernetes_would_refuse_is_refused_here(spec: JsonObject, message: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^jobRequestItems\[1\]\.podSpec(\..*)?" + message):
        accept(Submission(pod_spec=pod_spec()), Submission(pod_spec=spec))


@pytest.mark.parametrize(
    ("submission", "message"),
    [
        (Submission(pod_spec=pod_spec(), namespace=""), "namespace: '' is no name of a Kubernetes namespace"),
        (Submission(pod_spec=pod_spec(), namespace="A"), "namespace: 'A' is no"),
        (Submission(pod_spec=pod_spec(), priority=-1), "priority: -1 must be between 0 and 4294967295"),
        (Submission(pod_spec=pod_spec(), priority=1 << 32), "priority: 4294967296 must be"),
        (Submission(pod_spec=pod_spec(), client_id="x" * 254), "clientId: 'x+…? ?.*must have at most 253"),
        (Submission(pod_spec=pod_spec(), labels={"a": "b c"}), r"labels\[a\]: 'b c' is no Kubernetes label value"),
        (Submission(pod_spec=pod_spec(), labels={"": "b"}), "labels: '' is no key"),
        (Submission(pod_spec=pod_spec(), annotations={"a b": ""}), "annotations: 'a b' is no key"),
        (Submission(pod_spec=pod_spec(), annotations={"a": "x" * 262_144}), "annotations: '262145 bytes' must be"),
    ],
)
def test_a_field_that_cannot_be_used_is_named_with_its_value(submission: Submission, message: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^jobRequestItems\[0\]\." + message):
        accept(submission)


def test_a_request_must_name_a_job_set_and_hold_jobs() -> None:
    fine = Submission(pod_spec=pod_spec())
    for job_set in ("", "x" * 1025):
        with pytest.raises(InvalidFieldError, match="jobSetId: "):
            accept(fine, job_set=job_set)
    with pytest.raises(InvalidFieldError, match="jobRequestItems: 0 must be 1 to 10000 jobs"):
        accept()
    with pytest.raises(InvalidFieldError, match="owner: "):
        accept(fine, owner="x" * 254)


def test_every_member_of_a_gang_becomes_fail_fast() -> None:
    accepted = accept(gang("2"), gang("2"), Submission(pod_spec=pod_spec()), gang("1", "lonely"))
    assert [job.annotations.get(FAIL_FAST) for job in accepted] == ["true", "true", None, None]


def test_a_gang_may_ask_for_nothing_but_fail_fast() -> None:
    assert accept(gang("2", **{FAIL_FAST: "true"}), gang("2"))[0].annotations[FAIL_FAST] == "true"
    with pytest.raises(InvalidFieldError, match=r"failFast.*: 'false' must be .true. or left out for a gang"):
        accept(gang("2", **{FAIL_FAST: "false"}), gang("2"))


@pytest.mark.parametrize("cardinality", ["", "two", "0", "-1"])
def test_a_gang_of_no_number_is_refused(cardinality: str) -> None:
    with pytest.raises(InvalidFieldError, match="annotations: 'g' can't be a gang: "):
        accept(gang(cardinality))


def test_a_gang_without_id_is_refused() -> None:
    with pytest.raises(InvalidFieldError, match="gang id is empty"):
        accept(gang("2", ""))


@pytest.mark.parametrize(
    ("cardinalities", "message"),
    [(["2"], "a gang of 2, and 1 are here"), (["2", "3"], "a gang of 2 or 3, and 2 are"), (["2"] * 3, "and 3 are")],
)
def test_a_gang_is_submitted_whole_and_agrees_on_its_size(cardinalities: list[str], message: str) -> None:
    with pytest.raises(InvalidFieldError, match=message):
        accept(*[gang(cardinality) for cardinality in cardinalities])


def test_fail_fast_of_a_plain_job_is_left_as_it_is() -> None:
    plain = Submission(pod_spec=pod_spec(), annotations={FAIL_FAST: "True"})
    assert accept(plain)[0].annotations == {FAIL_FAST: "True"}

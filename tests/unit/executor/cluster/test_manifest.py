"""The pod that is created for a lease."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from refloat_common.core.messages import Lease
from refloat_executor.core.cluster.manifest import InvalidLeaseError, pod_body

LEASE = Lease(
    run="r1",
    job="j1",
    queue="q",
    job_set="set",
    namespace="jobs",
    owner="alice",
    labels={"team": "x", "armada_job_run_id": "stolen"},
    annotations={"note": "n", "armada_jobset_id": "stolen"},
    pod_spec=json.dumps(
        {"containers": [{"name": "main", "env": [{"name": "ARMADA_QUEUE", "value": "mine"}]}]}
    ).encode(),
)


def body(lease: Lease) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(pod_body(lease, "gpu"))
    return decoded


def test_the_whole_pod() -> None:
    assert body(LEASE) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "armada-j1-0",
            "namespace": "jobs",
            "labels": {
                "team": "x",
                "armada_job_id": "j1",
                "armada_job_run_id": "r1",
                "armada_queue_id": "q",
                "armada_pod_number": "0",
                "armada_pod_count": "1",
            },
            "annotations": {
                "armadaproject.io/pool": "gpu",
                "note": "n",
                "armada_jobset_id": "set",
                "armada_owner": "alice",
            },
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "env": [
                        {"name": "ARMADA_QUEUE", "value": "mine"},
                        {"name": "ARMADA_JOB_ID", "value": "j1"},
                        {"name": "ARMADA_JOB_SET_ID", "value": "set"},
                    ],
                }
            ],
            "restartPolicy": "Never",
        },
    }


def test_what_the_scheduler_wrote_stays() -> None:
    made = body(replace(LEASE, labels={"armada_preemptible": "true"}, annotations={"armadaproject.io/pool": "cpu"}))
    assert made["metadata"]["labels"]["armada_preemptible"] == "true"
    assert made["metadata"]["annotations"]["armadaproject.io/pool"] == "cpu"


def test_init_containers_get_the_environment_and_nothing_else_changes() -> None:
    spec = {"initContainers": [{"name": "prep"}], "containers": [{"name": "main"}], "restartPolicy": "Always", "x": 1.5}
    made = body(replace(LEASE, pod_spec=json.dumps(spec).encode()))["spec"]
    names = ["ARMADA_JOB_ID", "ARMADA_QUEUE", "ARMADA_JOB_SET_ID"]
    assert [entry["name"] for entry in made["initContainers"][0]["env"]] == names
    assert (made["restartPolicy"], made["x"]) == ("Never", 1.5)


def test_gangs_are_told_to_their_members() -> None:
    gang = {
        "armadaproject.io/gangId": "g",
        "armadaproject.io/gangCardinality": "2",
        "ARMADA_GANG_NODE_UNIFORMITY_LABEL_NAME": "zone",
    }
    made = body(replace(LEASE, annotations=gang))["spec"]["containers"][0]["env"]
    told = {entry["name"]: entry["value"] for entry in made}
    assert told == {
        "ARMADA_QUEUE": "mine",
        "ARMADA_JOB_ID": "j1",
        "ARMADA_JOB_SET_ID": "set",
        "ARMADA_GANG_ID": "g",
        "ARMADA_GANG_CARDINALITY": "2",
        "ARMADA_GANG_NODE_UNIFORMITY_LABEL_NAME": "zone",
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"queue": ""}, "received invalid job - the queue and the job set must not be empty"),
        ({"job_set": ""}, "received invalid job - the queue and the job set must not be empty"),
        ({"namespace": "../kube-system"}, "received invalid job - '../kube-system' is not the name of a namespace"),
        ({"namespace": ""}, "received invalid job - '' is not the name of a namespace"),
        ({"pod_spec": b""}, "no podspec found in the main object - jobs must specify a podspec"),
        ({"pod_spec": b"{}"}, "no podspec found in the main object - jobs must specify a podspec"),
        ({"pod_spec": b'{"containers":{"a":1}}'}, "spec.containers is not a list of containers"),
        ({"pod_spec": b'{"initContainers":[1]}'}, "spec.initContainers is not a list of containers"),
        ({"pod_spec": b'{"containers":[{"env":{}}]}'}, "the env of a container is not a list"),
    ],
)
def test_what_can_never_be_a_pod(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidLeaseError) as refused:
        pod_body(replace(LEASE, **change), "gpu")
    assert str(refused.value) == problem


@pytest.mark.parametrize("spec", [b"[1]", b"{", b"\xff", b'"text"'])
def test_what_is_no_spec_is_named(spec: bytes) -> None:
    with pytest.raises(InvalidLeaseError, match="the pod spec is not a JSON object: "):
        pod_body(replace(LEASE, pod_spec=spec), "gpu")

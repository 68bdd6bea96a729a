"""A real API server decodes a pod's protobuf to the same object as the JSON that is made of it."""

import json
from typing import Any

import pytest
from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from armada_client.k8s.io.apimachinery.pkg.apis.meta.v1 import generated_pb2 as meta_v1
from armada_client.k8s.io.apimachinery.pkg.runtime import generated_pb2 as runtime

from refloat_common.core.podproto import to_json
from testkit.podproto.cases import PODS
from testkit.podproto.rich import Json
from testkit.real_kube import RealApi

pytestmark = pytest.mark.kube

TRIED = "/api/v1/namespaces/refloat-jobs/pods?dryRun=All&fieldValidation=Strict"
MAGIC = b"k8s\0"
"""What Kubernetes writes before a protobuf object."""


def as_protobuf(spec: Any) -> bytes:
    """A pod as Kubernetes' own clients send it in protobuf."""
    pod = core_v1.Pod(metadata=meta_v1.ObjectMeta(name="tried"), spec=spec)
    envelope = runtime.Unknown(typeMeta=runtime.TypeMeta(apiVersion="v1", kind="Pod"), raw=pod.SerializeToString())
    return MAGIC + envelope.SerializeToString()


def stored(answer: Json) -> Json:
    """What the server made of the pod, without what differs at every creation."""
    assert answer["kind"] == "Pod", answer
    spec: Json = answer["spec"]
    return spec


@pytest.mark.parametrize("name", PODS)
def test_the_server_reads_the_same_from_both(real_api: RealApi, name: str) -> None:
    message, _ = PODS[name]
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried"}, "spec": to_json(message)}
    from_json = real_api.admin.create(TRIED, json.loads(json.dumps(body))).ok()
    from_protobuf = real_api.admin.send("POST", TRIED, as_protobuf(message), "application/vnd.kubernetes.protobuf").ok()
    assert stored(from_json) == stored(from_protobuf)

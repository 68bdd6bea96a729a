"""What can't be translated is refused with its path and value, and nothing is dropped."""

from typing import Any

import pytest
from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from armada_client.k8s.io.apimachinery.pkg.api.resource.generated_pb2 import Quantity
from armada_client.k8s.io.apimachinery.pkg.apis.meta.v1 import generated_pb2 as meta_v1
from armada_client.k8s.io.apimachinery.pkg.util.intstr.generated_pb2 import IntOrString
from google.protobuf.message import Message

from refloat_common.core.podproto import KubernetesFormError, fill, to_json

SHAPE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            core_v1.PodSpec(
                containers=[
                    core_v1.Container(),
                    core_v1.Container(
                        resources=core_v1.ResourceRequirements(limits={"memory": Quantity(string="2 G")})
                    ),
                ]
            ),
            f"spec.containers[1].resources.limits[memory]: '2 G' is no quantity: {SHAPE}",
        ),
        (
            core_v1.PodSpec(overhead={"cpu": Quantity(string="1X")}),
            f"spec.overhead[cpu]: '1X' is no quantity: {SHAPE}",
        ),
        (
            core_v1.Probe(
                handler=core_v1.ProbeHandler(tcpSocket=core_v1.TCPSocketAction(port=IntOrString(type=7, intVal=1)))
            ),
            "spec.tcpSocket.port.type: 7 is neither 0, a number, nor 1, a name",
        ),
        (
            meta_v1.ObjectMeta(creationTimestamp=meta_v1.Time(seconds=1 << 40)),
            "spec.creationTimestamp: 1099511627776 lies outside of the years 1 to 9999",
        ),
        (
            meta_v1.ManagedFieldsEntry(fieldsV1=meta_v1.FieldsV1(Raw=b"{")),
            "spec.fieldsV1: b'{' is no JSON: Input data was truncated",
        ),
    ],
)
def test_a_message_that_has_no_json(message: Message, text: str) -> None:
    with pytest.raises(KubernetesFormError) as refused:
        to_json(message, "spec")
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "spec: [] must be an object"),
        ({"container": []}, "spec.container: [] stands under a key that the Kubernetes object PodSpec has not"),
        ({"containers": {}}, "spec.containers: {} must be a list"),
        ({"containers": "main"}, "spec.containers: 'main' must be a list"),
        ({"containers": [None]}, "spec.containers[0]: None must be an object"),
        ({"containers": [{"name": 1}]}, "spec.containers[0].name: 1 must be a text"),
        ({"containers": [{"command": ["a", None]}]}, "spec.containers[0].command[1]: None must be a text"),
        ({"containers": [{"tty": "yes"}]}, "spec.containers[0].tty: 'yes' must be true or false"),
        ({"priority": True}, "spec.priority: True must be a whole number"),
        ({"priority": 1.5}, "spec.priority: 1.5 must be a whole number"),
        ({"priority": 1 << 31}, "spec.priority: 2147483648 must be between -2147483648 and 2147483647"),
        ({"nodeSelector": ["a"]}, "spec.nodeSelector: ['a'] must be an object"),
        ({"nodeSelector": {"a": 1}}, "spec.nodeSelector[a]: 1 must be a text"),
        ({"nodeSelector": {1: "a"}}, "spec.nodeSelector: 1 must be a text"),
        ({"nodeName": "\ud800"}, "spec.nodeName: '\\ud800' is no valid Unicode"),
        ({"overhead": {"cpu": True}}, "spec.overhead[cpu]: True must be a quantity such as 500m or 2Gi"),
        ({"overhead": {"cpu": float("nan")}}, f"spec.overhead[cpu]: nan is no quantity: {SHAPE}"),
        (
            {"containers": [{"livenessProbe": {"tcpSocket": {"port": 1.5}}}]},
            "spec.containers[0].livenessProbe.tcpSocket.port: 1.5 must be a whole number",
        ),
        (
            {"volumes": [{"name": "v", "volumeSource": {}}]},
            "spec.volumes[0].volumeSource: {} stands under a key that the Kubernetes object Volume has not",
        ),
    ],
)
def test_json_that_is_no_pod(value: Any, text: str) -> None:
    with pytest.raises(KubernetesFormError) as refused:
        fill(core_v1.PodSpec(), value, "spec")
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("today", "Invalid isoformat string: 'today'"),
        ("2026-01-31T08:00:00", "has no time zone"),
    ],
)
def test_a_text_that_is_no_time(value: str, why: str) -> None:
    with pytest.raises(KubernetesFormError) as refused:
        fill(meta_v1.ObjectMeta(), {"creationTimestamp": value})
    assert str(refused.value) == f"creationTimestamp: {value!r} is no time such as 2026-01-31T08:00:00Z: {why}"

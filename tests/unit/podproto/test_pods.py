"""Pods as messages and as JSON: whole expected results, in both directions."""

import kubernetes_asyncio.client
import pytest
from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from armada_client.k8s.io.apimachinery.pkg.apis.meta.v1 import generated_pb2 as meta_v1
from armada_client.k8s.io.apimachinery.pkg.util.intstr.generated_pb2 import IntOrString

from refloat_common.core.podproto import fields, fill, to_json
from refloat_common.core.podproto.fields import layout_of
from testkit.podproto.cases import PODS
from testkit.podproto.closure import reachable
from testkit.podproto.rich import Json

NEWER = {
    "PodSpec": {"hostnameOverride", "schedulingGroup"},
    "VolumeProjection": {"podCertificate"},
    "Container": {"restartPolicyRules"},
    "EphemeralContainer": {"restartPolicyRules"},
    "EnvVarSource": {"fileKeyRef"},
    "Lifecycle": {"stopSignal"},
}
"""Keys of Kubernetes' newer versions, which the messages of the API have no field for."""


@pytest.mark.parametrize("name", PODS)
def test_a_message_is_written_as_kubernetes_json(name: str) -> None:
    message, expected = PODS[name]
    assert to_json(message) == expected


@pytest.mark.parametrize("name", PODS)
def test_json_is_read_into_the_message_that_writes_it(name: str) -> None:
    _, expected = PODS[name]
    message = core_v1.PodSpec()
    fill(message, expected)
    assert to_json(message) == expected


def test_an_ephemeral_container_has_the_keys_of_a_container() -> None:
    common = core_v1.EphemeralContainerCommon(name="debug", image="i")
    message = core_v1.EphemeralContainer(ephemeralContainerCommon=common, targetContainerName="main")
    assert to_json(message) == {"name": "debug", "image": "i", "targetContainerName": "main"}


def test_times_and_raw_fields_of_metadata() -> None:
    entry = meta_v1.ManagedFieldsEntry(
        manager="m", time=meta_v1.Time(seconds=1_800_000_000), fieldsV1=meta_v1.FieldsV1(Raw=b'{"f:a":{}}')
    )
    message = meta_v1.ObjectMeta(
        creationTimestamp=meta_v1.Time(), managedFields=[entry], deletionTimestamp=meta_v1.Time(seconds=-62135596800)
    )
    expected: Json = {
        "deletionTimestamp": "0001-01-01T00:00:00Z",
        "managedFields": [{"manager": "m", "time": "2027-01-15T08:00:00Z", "fieldsV1": {"f:a": {}}}],
    }
    assert to_json(message) == expected
    back = meta_v1.ObjectMeta()
    fill(back, expected)
    assert to_json(back) == expected


@pytest.mark.parametrize(
    ("port", "written"),
    [
        (IntOrString(type=0, intVal=80, strVal="80"), 80),
        (IntOrString(type=1, intVal=80, strVal="http"), "http"),
        (IntOrString(type=1, strVal="80"), "80"),
        (IntOrString(strVal="http"), "http"),
        (IntOrString(intVal=80), 80),
        (IntOrString(), 0),
    ],
)
def test_a_port_is_a_number_or_a_name(port: IntOrString, written: int | str) -> None:
    assert to_json(core_v1.TCPSocketAction(port=port)) == {"port": written}


def test_a_null_counts_as_not_written() -> None:
    message = core_v1.PodSpec()
    fill(message, {"nodeName": None, "containers": None, "securityContext": None})
    assert message == core_v1.PodSpec()


def test_bare_numbers_are_quantities() -> None:
    message = core_v1.ResourceRequirements()
    fill(message, {"limits": {"cpu": 2, "memory": 1.5}})
    assert to_json(message) == {"limits": {"cpu": "2", "memory": "1.5"}}


def test_every_message_has_the_keys_of_kubernetes_own_client() -> None:
    different = {}
    for message in reachable().values():
        model = getattr(kubernetes_asyncio.client, f"V1{message.name}", None)
        model = model or getattr(kubernetes_asyncio.client, f"CoreV1{message.name}", None)
        if model is not None and (odd := set(layout_of(message).keys) ^ set(model.attribute_map.values())):
            different[message.name] = odd
    assert different == NEWER


def test_the_tables_name_fields_that_exist() -> None:
    names = {message.name: {field.name for field in message.fields} for message in reachable().values()}
    for table in (fields.POINTERS, fields.STRUCTS):
        for message, listed in table.items():
            assert set(listed.split()) <= names[message], message

"""Whatever a Kubernetes message says is still said after a way through JSON and back."""

import msgspec
from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from google.protobuf.message import Message
from hypothesis import given, settings

from refloat_common.core.podproto import fill, to_json
from testkit.podproto.strategies import messages


def there_and_back(message: Message) -> Message:
    """The message that its own JSON text stands for."""
    back = type(message)()
    fill(back, msgspec.json.decode(msgspec.json.encode(to_json(message))))
    return back


@settings(max_examples=300, deadline=None)
@given(messages(core_v1.PodSpec, zeros=False))
def test_a_pod_without_idle_zeros_comes_back_the_same(message: Message) -> None:
    assert there_and_back(message) == message


@settings(max_examples=300, deadline=None)
@given(messages(core_v1.PodSpec, zeros=True))
def test_idle_zeros_are_all_that_a_pod_can_lose(message: Message) -> None:
    back = there_and_back(message)
    assert to_json(back) == to_json(message)
    assert {field.name for field, _ in back.ListFields()} <= {field.name for field, _ in message.ListFields()}


@settings(max_examples=200, deadline=None)
@given(messages(core_v1.Volume, zeros=False))
def test_a_volume_comes_back_the_same(message: Message) -> None:
    assert there_and_back(message) == message

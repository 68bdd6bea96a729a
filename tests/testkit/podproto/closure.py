"""All message types that a PodSpec can hold."""

from collections.abc import Iterator

from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1
from google.protobuf.descriptor import Descriptor


def reachable() -> dict[str, Descriptor]:
    """Full name → type of every message that can stand in a PodSpec, itself included; entries of maps left out."""
    found: dict[str, Descriptor] = {}
    waiting: list[Descriptor] = [core_v1.PodSpec.DESCRIPTOR]
    while waiting:
        message = waiting.pop()
        if message.full_name not in found:
            found[message.full_name] = message
            waiting += _held(message)
    return {name: message for name, message in found.items() if not message.GetOptions().map_entry}


def _held(message: Descriptor) -> Iterator[Descriptor]:
    return (field.message_type for field in message.fields if field.message_type is not None)

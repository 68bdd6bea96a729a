"""Translates Kubernetes objects between protobuf, as Armada's API carries them, and JSON, as an API server takes them.

protobuf's own JSON is not Kubernetes': there a quantity is a text, a port is a number or a name, a time is RFC 3339,
and some messages are unions whose fields stand in the object around them. Needs protobuf, which comes with
`armada_client`; nothing here knows that package: the descriptors of the messages at hand are enough.
"""

from refloat_common.core.podproto.errors import KubernetesFormError
from refloat_common.core.podproto.reading import fill
from refloat_common.core.podproto.writing import to_json

__all__ = ["KubernetesFormError", "fill", "to_json"]

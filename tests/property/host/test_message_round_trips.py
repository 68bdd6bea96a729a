"""Queues and retry policies say the same after a way through the host's own values and back."""

import msgspec
from armada_client.armada import submit_pb2 as pb
from google.protobuf.message import Message
from hypothesis import given, settings

from refloat_host.api.messages.policies import policy_document, policy_message
from refloat_host.api.messages.queues import queue_message, queue_of
from refloat_host.core.queues import Queue
from refloat_scheduler.core.policies.document import PolicyBody, decode, encode
from testkit.podproto.strategies import messages


@settings(max_examples=300, deadline=None)
@given(messages(pb.Queue, zeros=True))
def test_a_queue_comes_back_the_same_though_it_was_stored(message: Message) -> None:
    assert isinstance(message, pb.Queue)
    message.ClearField("labels_deprecated")
    stored = msgspec.json.decode(msgspec.json.encode(queue_of(message)), type=Queue)
    assert queue_message(stored) == message


@settings(max_examples=300, deadline=None)
@given(messages(pb.RetryPolicy, zeros=True))
def test_a_policy_comes_back_the_same_though_it_was_stored(message: Message) -> None:
    assert isinstance(message, pb.RetryPolicy)
    stored = encode(decode(policy_document(message)) or PolicyBody())
    assert policy_message(stored) == message

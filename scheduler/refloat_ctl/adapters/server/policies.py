"""Calls `api.RetryPolicyService`."""

from collections.abc import Mapping, Sequence

from armada_client.armada import submit_pb2, submit_pb2_grpc
from google.protobuf.json_format import MessageToDict, ParseDict

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.adapters.server.channel import Channel
from refloat_scheduler.core.policies.document import PolicyBody, decode, encode


class PolicyApi:
    """Retry policies on the server. Every call may raise `RefusedError`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._stub = submit_pb2_grpc.RetryPolicyServiceStub(channel.grpc)

    def create(self, policy: PolicyBody) -> None:
        """Store a policy, or replace the one of its name."""
        self._channel.call(self._stub.CreateRetryPolicy, _message(policy))

    def update(self, policy: PolicyBody) -> None:
        """Replace a policy."""
        self._channel.call(self._stub.UpdateRetryPolicy, _message(policy))

    def delete(self, name: str) -> None:
        """Remove a policy that no queue references; one that does not exist is removed already."""
        self._channel.call(self._stub.DeleteRetryPolicy, submit_pb2.RetryPolicyDeleteRequest(name=name))

    def get(self, name: str) -> PolicyBody:
        """One policy."""
        return _policy(self._channel.call(self._stub.GetRetryPolicy, submit_pb2.RetryPolicyGetRequest(name=name)))

    def list(self) -> list[PolicyBody]:
        """All policies, in order of name."""
        answer = self._channel.call(self._stub.GetRetryPolicies, submit_pb2.RetryPolicyListRequest())
        return [_policy(message) for message in answer.retry_policies]


def _message(policy: PolicyBody) -> submit_pb2.RetryPolicy:
    """The message of a policy. A rule that is null becomes an empty one, which the server refuses by its number."""
    rules = [
        {**_object(body), "action": rule.action.enum_name} if rule else {}
        for rule, body in zip(policy.rules, _list(encode(policy).get("rules")), strict=True)
    ]
    body = {**encode(policy), "defaultAction": policy.default_action.enum_name, "rules": rules}
    return ParseDict(body, submit_pb2.RetryPolicy())


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) else ()


def _policy(message: submit_pb2.RetryPolicy) -> PolicyBody:
    policy = decode(MessageToDict(message))
    assert policy is not None
    return policy

"""Serves `api.RetryPolicyService`: create, replace, delete and look up retry policies."""

from collections.abc import Mapping

from armada_client.armada import submit_pb2
from google.protobuf.empty_pb2 import Empty

from refloat_host.api.calls import Call
from refloat_host.api.errors import PolicyNameMissingError
from refloat_host.api.messages.policies import policy_document, policy_message
from refloat_host.api.messages.unknown import refuse_unknown_fields
from refloat_host.services.policies import PolicyService


class PolicyCalls:
    """The calls on retry policies."""

    def __init__(self, policies: PolicyService) -> None:
        self._policies = policies

    def table(self) -> Mapping[str, Call]:
        """Every method of the service."""
        return {
            "CreateRetryPolicy": Call(self._create, "creating retry policy {0.name}"),
            "UpdateRetryPolicy": Call(self._update, "updating retry policy {0.name}"),
            "DeleteRetryPolicy": Call(self._delete, "deleting retry policy {0.name}"),
            "GetRetryPolicy": Call(self._get, "getting retry policy {0.name}"),
            "GetRetryPolicies": Call(self._list, "getting retry policies"),
        }

    async def _create(self, request: submit_pb2.RetryPolicy) -> Empty:
        refuse_unknown_fields(request)
        await self._policies.create(policy_document(request))
        return Empty()

    async def _update(self, request: submit_pb2.RetryPolicy) -> Empty:
        refuse_unknown_fields(request)
        await self._policies.update(policy_document(request))
        return Empty()

    async def _delete(self, request: submit_pb2.RetryPolicyDeleteRequest) -> Empty:
        """An unknown name is no error; a policy that queues reference is."""
        await self._policies.delete(_named(request.name))
        return Empty()

    async def _get(self, request: submit_pb2.RetryPolicyGetRequest) -> submit_pb2.RetryPolicy:
        stored = await self._policies.get(_named(request.name))
        return policy_message(stored.body)

    async def _list(self, _: submit_pb2.RetryPolicyListRequest) -> submit_pb2.RetryPolicyList:
        stored = await self._policies.list()
        return submit_pb2.RetryPolicyList(retry_policies=[policy_message(policy.body) for policy in stored])


def _named(name: str) -> str:
    if not name:
        raise PolicyNameMissingError
    return name

"""Retry policies: Armada's message, and the JSON form that is checked and stored."""

from armada_client.armada import submit_pb2

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_scheduler.core.policies.document import (
    Action,
    MutationDocument,
    PolicyBody,
    RuleDocument,
    decode,
)

_NUMBERS = {
    Action.UNSPECIFIED: submit_pb2.RETRY_ACTION_UNSPECIFIED,
    Action.FAIL: submit_pb2.RETRY_ACTION_FAIL,
    Action.RETRY: submit_pb2.RETRY_ACTION_RETRY,
}


def policy_document(policy: submit_pb2.RetryPolicy) -> JsonObject:
    """The JSON form of a policy as it was sent, unjudged: an unknown action stays the number that it is."""
    return {
        "name": policy.name,
        "retryLimit": policy.retry_limit,
        "defaultAction": int(policy.default_action),
        "rules": [_rule_document(rule) for rule in policy.rules],
    }


def policy_message(body: JsonObject) -> submit_pb2.RetryPolicy:
    """The message of a stored policy."""
    policy = decode(body) or PolicyBody()
    return submit_pb2.RetryPolicy(
        name=policy.name,
        retry_limit=policy.retry_limit,
        default_action=_NUMBERS[policy.default_action],
        rules=[_rule_message(rule) for rule in policy.rules if rule is not None],
    )


def _rule_document(rule: submit_pb2.RetryRule) -> JsonObject:
    document: dict[str, JsonValue] = {
        "action": int(rule.action),
        "onCategory": rule.on_category,
        "onSubcategory": rule.on_subcategory,
    }
    if rule.HasField("mutate"):
        document["mutate"] = _mutation_document(rule.mutate)
    return document


def _mutation_document(mutation: submit_pb2.RetryMutation) -> JsonObject:
    document: dict[str, JsonValue] = {}
    if mutation.HasField("affinity"):
        document["affinity"] = {"avoidSameNode": mutation.affinity.avoid_same_node}
    if mutation.HasField("resources"):
        resources = mutation.resources
        memory: JsonObject = {"static": resources.memory.static, "factor": resources.memory.factor}
        document["resources"] = {"memory": memory} if resources.HasField("memory") else {}
    return document


def _rule_message(rule: RuleDocument) -> submit_pb2.RetryRule:
    return submit_pb2.RetryRule(
        action=_NUMBERS[rule.action],
        on_category=rule.on_category,
        on_subcategory=rule.on_subcategory,
        mutate=None if rule.mutate is None else _mutation_message(rule.mutate),
    )


def _mutation_message(mutation: MutationDocument) -> submit_pb2.RetryMutation:
    message = submit_pb2.RetryMutation()
    if mutation.affinity is not None:
        message.affinity.avoid_same_node = mutation.affinity.avoid_same_node
        message.affinity.SetInParent()
    if mutation.resources is not None:
        message.resources.SetInParent()
        if mutation.resources.memory is not None:
            message.resources.memory.SetInParent()
            message.resources.memory.static = mutation.resources.memory.static
            message.resources.memory.factor = mutation.resources.memory.factor
    return message

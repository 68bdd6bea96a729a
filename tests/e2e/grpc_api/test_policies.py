"""`api.RetryPolicyService` over a real server: every call, every status and text."""

from typing import Any

import pytest
from armada_client.armada import submit_pb2 as pb
from google.protobuf.empty_pb2 import Empty
from grpc import StatusCode

from testkit.host.api import ServedApi, refused

pytestmark = pytest.mark.anyio

RETRY, FAIL = pb.RETRY_ACTION_RETRY, pb.RETRY_ACTION_FAIL


def bump(**memory: Any) -> pb.RetryMutation:
    return pb.RetryMutation(resources=pb.RetryResourceMutation(memory=pb.RetryResourceBump(**memory)))


def rule(**fields: Any) -> pb.RetryRule:
    given: dict[str, Any] = {"action": RETRY, "on_category": "oom"} | fields
    return pb.RetryRule(**given)


def policy(*rules: pb.RetryRule, **fields: Any) -> pb.RetryPolicy:
    given: dict[str, Any] = {"name": "p", "retry_limit": 3, "default_action": FAIL, "rules": rules} | fields
    return pb.RetryPolicy(**given)


WHOLE = policy(
    rule(
        mutate=pb.RetryMutation(
            affinity=pb.RetryAffinityMutation(avoid_same_node=True),
            resources=pb.RetryResourceMutation(memory=pb.RetryResourceBump(factor=1.25)),
        )
    ),
    rule(on_subcategory="kernel", mutate=bump(static="256Mi")),
    rule(action=FAIL, on_category="user"),
    rule(on_category="empty", mutate=pb.RetryMutation(affinity=pb.RetryAffinityMutation())),
)


async def test_a_policy_is_served_as_it_was_created(api: ServedApi) -> None:
    assert await api.policies.CreateRetryPolicy(WHOLE) == Empty()
    assert await api.policies.GetRetryPolicy(pb.RetryPolicyGetRequest(name="p")) == WHOLE


async def test_create_replaces_and_the_list_is_in_order_of_name(api: ServedApi) -> None:
    await api.policies.CreateRetryPolicy(policy(name="b"))
    await api.policies.CreateRetryPolicy(policy(name="a"))
    await api.policies.CreateRetryPolicy(policy(name="b", retry_limit=0, default_action=RETRY))
    listed = await api.policies.GetRetryPolicies(pb.RetryPolicyListRequest())
    assert listed == pb.RetryPolicyList(
        retry_policies=[policy(name="a"), policy(name="b", retry_limit=0, default_action=RETRY)]
    )


async def test_update_replaces_what_is_there(api: ServedApi) -> None:
    await api.policies.CreateRetryPolicy(WHOLE)
    await api.policies.UpdateRetryPolicy(policy(retry_limit=4_294_967_295))
    stored = await api.policies.GetRetryPolicy(pb.RetryPolicyGetRequest(name="p"))
    assert stored == policy(retry_limit=4_294_967_295)


async def test_a_policy_without_queues_is_deleted_and_an_unknown_one_is_no_error(api: ServedApi) -> None:
    await api.policies.CreateRetryPolicy(WHOLE)
    for _ in range(2):
        assert await api.policies.DeleteRetryPolicy(pb.RetryPolicyDeleteRequest(name="p")) == Empty()
    assert await api.policies.GetRetryPolicies(pb.RetryPolicyListRequest()) == pb.RetryPolicyList()


async def test_a_policy_that_queues_reference_is_not_deleted(api: ServedApi) -> None:
    await api.policies.CreateRetryPolicy(WHOLE)
    for name in ("night", "day"):
        await api.queues.CreateQueue(pb.Queue(name=name, priority_factor=1, retry_policies=["p"]))
    text = (
        'error deleting retry policy p: retry policy "p" is attached to queues: day, night; detach it from them first'
    )
    with refused(StatusCode.FAILED_PRECONDITION, text):
        await api.policies.DeleteRetryPolicy(pb.RetryPolicyDeleteRequest(name="p"))
    assert await api.policies.GetRetryPolicy(pb.RetryPolicyGetRequest(name="p")) == WHOLE
    for name in ("night", "day"):
        await api.queues.UpdateQueue(pb.Queue(name=name, priority_factor=1))
    await api.policies.DeleteRetryPolicy(pb.RetryPolicyDeleteRequest(name="p"))


async def test_an_unknown_policy_is_not_found(api: ServedApi) -> None:
    text = 'error: could not find retry policy "p"'
    with refused(StatusCode.NOT_FOUND, text):
        await api.policies.GetRetryPolicy(pb.RetryPolicyGetRequest(name="p"))
    with refused(StatusCode.NOT_FOUND, text):
        await api.policies.UpdateRetryPolicy(WHOLE)
    assert await api.policies.GetRetryPolicies(pb.RetryPolicyListRequest()) == pb.RetryPolicyList()


async def test_a_name_must_be_given(api: ServedApi) -> None:
    text = 'retry policy name must not be empty: name is ""'
    with refused(StatusCode.INVALID_ARGUMENT, text):
        await api.policies.GetRetryPolicy(pb.RetryPolicyGetRequest())
    with refused(StatusCode.INVALID_ARGUMENT, text):
        await api.policies.DeleteRetryPolicy(pb.RetryPolicyDeleteRequest())


LABEL = (
    "must consist of lowercase alphanumeric characters or '-', and must start and end with an alphanumeric character"
)
SHAPE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
MEMORY = 'retry policy "p" rule 0: mutate.resources.memory:'
REFUSED = {
    "no name": (policy(name=""), "retry policy name must not be empty"),
    "a long name": (policy(name="a" * 64), f'retry policy name "{"a" * 64}" must be at most 63 characters'),
    "a bad name": (policy(name="My Policy"), f'retry policy name "My Policy" is invalid: {LABEL}'),
    "no action": (policy(rule(), rule(action=0)), 'retry policy "p" rule 1: action must be Fail or Retry'),
    "an unknown action": (policy(rule(action=7)), "rules[0].action: no RetryAction of value 7"),
    "no category": (policy(rule(on_category="")), 'retry policy "p" rule 0: on_category must be set'),
    "two bumps": (
        policy(rule(mutate=bump(static="1Gi", factor=2))),
        f"{MEMORY} set exactly one of static and factor, not both",
    ),
    "no bump": (policy(rule(mutate=bump())), f"{MEMORY} set exactly one of static and factor"),
    "a bad amount": (
        policy(rule(mutate=bump(static="much"))),
        f'{MEMORY} invalid static quantity "much": {SHAPE}',
    ),
    "a negative amount": (
        policy(rule(mutate=bump(static="-1Gi"))),
        f'{MEMORY} static quantity "-1Gi" must be positive',
    ),
    "a small factor": (policy(rule(mutate=bump(factor=1.0))), f"{MEMORY} factor 1 must be greater than 1.0"),
    "NaN": (policy(rule(mutate=bump(factor=float("nan")))), f"{MEMORY} factor NaN must be greater than 1.0"),
    "infinity": (policy(rule(mutate=bump(factor=float("inf")))), f"{MEMORY} factor +Inf must be a finite number"),
    "no default action": (
        policy(default_action=0),
        'retry policy "p" must set a default action (Fail or Retry)',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_an_invalid_policy_is_stored_by_no_call(api: ServedApi, name: str) -> None:
    message, text = REFUSED[name]
    for call in (api.policies.CreateRetryPolicy, api.policies.UpdateRetryPolicy):
        with refused(StatusCode.INVALID_ARGUMENT, f"invalid retry policy: {text}"):
            await call(message)
    assert await api.policies.GetRetryPolicies(pb.RetryPolicyListRequest()) == pb.RetryPolicyList()


async def test_a_matcher_that_this_version_does_not_know_is_not_dropped(api: ServedApi) -> None:
    newer = policy(rule())
    # Field 3 of a rule, `on_exit_codes`, is reserved in Armada's API.
    newer.rules[0].MergeFromString(b"\x1a\x02\x08\x01")
    text = "error creating retry policy p: rules[0]: 3 is the number of a field that this version does not know"
    with refused(StatusCode.INVALID_ARGUMENT, text):
        await api.policies.CreateRetryPolicy(newer)

"""Retry policies over the service (specification, *Managing policies with armadactl*)."""

from collections.abc import Mapping

import pytest

from refloat_common.core.jsontypes import JsonValue
from refloat_host.core.errors import InvalidFieldError, InvalidRetryPolicyError, NotFoundError, PolicyInUseError
from refloat_host.core.queues import Queue
from testkit.host.bench import NOW_MS, Bench

pytestmark = pytest.mark.anyio

POLICY: Mapping[str, JsonValue] = {
    "name": "ml",
    "retryLimit": 3,
    "defaultAction": "Fail",
    "rules": [{"action": "Retry", "onCategory": "oom", "mutate": {"resources": {"memory": {"factor": 1.5}}}}],
}


async def test_a_policy_comes_back_as_it_was_created(bench: Bench) -> None:
    assert await bench.policies.create(POLICY) == "ml"
    stored = await bench.policies.get("ml")
    assert (stored.name, stored.body, stored.updated_at_ms) == ("ml", POLICY, NOW_MS)
    assert len(stored.content_hash) == 64


async def test_creating_over_a_policy_replaces_it_and_leaves_it_attached(bench: Bench) -> None:
    await bench.policies.create(POLICY)
    await bench.queues.create(Queue(name="q", retry_policies=("ml",)))
    before = await bench.policies.get("ml")
    await bench.policies.create({**POLICY, "retryLimit": 4})
    after = await bench.policies.get("ml")
    assert after.body == {**POLICY, "retryLimit": 4}
    assert after.content_hash != before.content_hash
    assert (await bench.queues.get("q")).retry_policies == ("ml",)


async def test_updating_needs_the_policy_to_be_there(bench: Bench) -> None:
    with pytest.raises(NotFoundError, match='could not find retry policy "ml"'):
        await bench.policies.update(POLICY)
    assert await bench.policies.list() == []
    await bench.policies.create(POLICY)
    assert await bench.policies.update({**POLICY, "defaultAction": "Retry"}) == "ml"
    assert (await bench.policies.get("ml")).body == {**POLICY, "defaultAction": "Retry"}


@pytest.mark.parametrize("call", ["create", "update"])
@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({**POLICY, "name": "Not a label"}, 'invalid retry policy: .*"Not a label"'),
        ({**POLICY, "defaultAction": "Perhaps"}, 'defaultAction: no RetryAction of name "Perhaps"'),
        ({**POLICY, "rules": [{"action": "Retry"}]}, "rule 0: on_category must be set"),
        ({**POLICY, "retryLimit": -1}, "retryLimit: -1 is not between"),
        (None, "invalid retry policy: "),
        ("text", "expected an object"),
    ],
)
async def test_an_invalid_policy_is_refused_and_nothing_is_stored(
    bench: Bench, call: str, document: JsonValue, message: str
) -> None:
    with pytest.raises(InvalidRetryPolicyError, match=message):
        await getattr(bench.policies, call)(document)
    assert await bench.policies.list() == []


async def test_policies_are_listed_by_name_and_served_to_the_plugin(bench: Bench) -> None:
    for name in ("b", "a"):
        await bench.policies.create({**POLICY, "name": name})
    assert [policy.name for policy in await bench.policies.list()] == ["a", "b"]
    documents = await bench.host.load_policies()
    assert [(document.name, document.body["name"]) for document in documents] == [("a", "a"), ("b", "b")]


async def test_a_policy_that_queues_reference_is_not_deleted(bench: Bench) -> None:
    await bench.policies.create(POLICY)
    await bench.policies.create({**POLICY, "name": "spare"})
    for name in ("z", "a"):
        await bench.queues.create(Queue(name=name, retry_policies=("spare", "ml")))
    with pytest.raises(PolicyInUseError, match='retry policy "ml" is attached to queues: a, z; detach') as refused:
        await bench.policies.delete("ml")
    assert refused.value.queues == ("a", "z")
    for name in ("z", "a"):
        await bench.queues.update(Queue(name=name))
    assert await bench.policies.delete("ml")
    with pytest.raises(NotFoundError):
        await bench.policies.get("ml")


async def test_a_long_list_of_queues_is_cut(bench: Bench) -> None:
    await bench.policies.create(POLICY)
    for number in range(25):
        await bench.queues.create(Queue(name=f"q{number:02}", retry_policies=("ml",)))
    with pytest.raises(PolicyInUseError, match=r"q00, q01, .*, q19 and more; detach"):
        await bench.policies.delete("ml")


async def test_deleting_what_is_not_there_is_fine_and_an_empty_name_is_not(bench: Bench) -> None:
    assert not await bench.policies.delete("none")
    for call in (bench.policies.delete, bench.policies.get):
        with pytest.raises(InvalidFieldError, match="retry policy name must not be empty"):
            await call("")

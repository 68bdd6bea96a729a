"""The specification's section *Managing policies with armadactl*: what commands alone can't show."""

import pytest

from refloat_host.core.errors import PolicyInUseError
from refloat_scheduler.core.model import JobState
from testkit.whole.system import System, exits, live, rule


def test_a_queue_lists_several_policies_in_order_of_precedence() -> None:
    async def scenario(s: System) -> None:
        for name in ("third", "first", "second"):
            await s.policy(name)
        order = ("third", "first", "second")
        await s.queue("many", *order)
        assert (await s.daemon.queues.get("many")).retry_policies == order
        assert await s.daemon.store.read(lambda tx: tx.queue_policies("many")) == order

    live(scenario)


@pytest.mark.parametrize(("order", "state"), [(("a", "b"), JobState.SUCCEEDED), (("b", "a"), JobState.FAILED)])
def test_only_the_first_policy_of_the_list_is_evaluated(order: tuple[str, str], state: JobState) -> None:
    async def scenario(s: System) -> None:
        await s.policy("a", rule("Retry", "app"), default="Fail")
        await s.policy("b", rule("Fail", "app"), default="Retry")
        await s.queue("many", *order)
        job_id = await s.submit(exits(1, 1), queue="many")
        assert (await s.ended(job_id)).state is state
        assert {verdict["policy"] for verdict in await s.verdicts(job_id)} == {order[0]}

    live(scenario)


def test_later_policies_are_kept_and_not_consulted() -> None:
    """Not even where the first one has no rule for the failure."""

    async def scenario(s: System) -> None:
        await s.policy("silent", default="Fail")
        await s.policy("willing", rule("Retry", "app"))
        await s.queue("many", "silent", "willing")
        job_id = await s.submit(exits(1, 1), queue="many")
        assert (await s.ended(job_id)).state is JobState.FAILED
        assert (await s.daemon.queues.get("many")).retry_policies == ("silent", "willing")

    live(scenario)


def test_a_policy_that_any_queue_references_is_not_deleted() -> None:
    """Wherever in its list the queue has it; and the policy goes on deciding."""

    async def scenario(s: System) -> None:
        await s.policy("other")
        await s.queue("many", "p", "other")
        for name in ("p", "other"):
            with pytest.raises(PolicyInUseError, match=rf'retry policy "{name}" is attached to queues: many'):
                await s.daemon.policies.delete(name)
        assert [policy.name for policy in await s.daemon.policies.list()] == ["other", "p"]
        assert (await s.ended(await s.submit(exits(1, 1)))).state is JobState.SUCCEEDED

    live(scenario)


def test_a_policy_that_was_detached_from_all_queues_can_be_deleted() -> None:
    async def scenario(s: System) -> None:
        await s.queue("more", "p")
        await s.queue("q")
        with pytest.raises(PolicyInUseError, match="attached to queues: more"):
            await s.daemon.policies.delete("p")
        await s.queue("more")
        assert await s.daemon.policies.delete("p")
        assert list(await s.daemon.policies.list()) == []

    live(scenario)

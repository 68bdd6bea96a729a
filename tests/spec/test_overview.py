"""The specification's section *Overview*: policies per queue, on the whole product."""

import pytest

from refloat_scheduler.core.model import JobState
from testkit.whole.system import System, exits, live, rule


def test_queues_with_different_policies_judge_the_same_failure_differently() -> None:
    async def scenario(s: System) -> None:
        await s.policy("strict", rule("Fail", "app"))
        await s.queue("strict", "strict")
        retried, refused = await s.submit(exits(1, 1)), await s.submit(exits(1, 1), queue="strict")
        assert (await s.ended(retried)).state is JobState.SUCCEEDED
        assert (await s.ended(refused)).state is JobState.FAILED

    live(scenario)


def test_one_policy_is_attached_to_several_queues_by_its_name() -> None:
    async def scenario(s: System) -> None:
        await s.policy("shared", limit=1)
        for queue in ("a", "b"):
            await s.queue(queue, "shared")
        for queue in ("a", "b"):
            job_id = await s.submit(exits(1), queue=queue)
            assert len((await s.ended(job_id)).runs) == 2
            assert [verdict["policy"] for verdict in await s.verdicts(job_id)] == ["shared", "shared"]

    live(scenario)


def test_a_failure_is_looked_up_judged_and_requeued_or_failed() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app"), rule("Fail", "gpu"), default="Fail")
        retried, refused = await s.submit(exits(1, 1)), await s.submit(exits(21))
        assert (await s.ended(retried)).state is JobState.SUCCEEDED
        assert (await s.ended(refused)).state is JobState.FAILED
        assert await s.told(retried) == [
            *("submitted", "queued", "leased", "pending", "running", "failed(retryable)"),
            *("leased", "pending", "running", "succeeded"),
        ]
        assert (await s.told(refused))[-1] == "failed(final)"

    live(scenario)


def test_nothing_is_retried_unless_somebody_turned_it_on() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 1))
        assert (await s.ended(job_id)).state is JobState.FAILED
        assert [verdict["gate"] for verdict in await s.verdicts(job_id)] == ["flag_off"]

    live(scenario, {})


@pytest.mark.parametrize("enabled", [True, False])
def test_the_flag_alone_turns_the_engine_on(*, enabled: bool) -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 1))
        assert (await s.ended(job_id)).state is (JobState.SUCCEEDED if enabled else JobState.FAILED)
        assert [verdict["decision"] for verdict in await s.verdicts(job_id)] == (["retry"] if enabled else [""])

    live(scenario, {"scheduling": {"retryPolicy": {"enabled": enabled}}})


@pytest.mark.parametrize("engine", [False, True], ids=["flag-off", "no-policy"])
def test_without_the_engine_only_returned_leases_are_tried_again_up_to_the_limit(*, engine: bool) -> None:
    async def scenario(s: System) -> None:
        await s.queue("plain")
        failing = await s.submit(exits(1, 1), queue="plain")
        await s.ended(failing)
        refused = await s.submit_where_the_name_is_taken("plain")
        assert await s.told(failing) == ["submitted", "queued", "leased", "pending", "running", "failed(final)"]
        await s.ended(refused)
        assert await s.told(refused) == [
            *("submitted", "queued"),
            *("leased", "lease_returned") * 3,
            "failed(final)",
        ]

    live(scenario, {"scheduling": {"maxRetries": 2, "retryPolicy": {"enabled": engine}}})

"""The specification's section *Enabling the retry engine*: the block `scheduling.retryPolicy`, key by key."""

import pytest

from refloat_common.core.messages import ReportKind
from refloat_common.core.settings import parse_settings
from refloat_scheduler.core.model import JobState
from refloat_scheduler.service.contract import PolicyDocument
from refloat_scheduler.settings import SchedulerSettings
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, report_of, run_of
from testkit.scheduling.plugin import ENGINE_ON, Play, play
from testkit.whole.system import System, exits, live


def block(**keys: object) -> dict[str, object]:
    return {"scheduling": {"retryPolicy": keys}}


def test_every_key_of_the_block_reaches_the_engine() -> None:
    settings = parse_settings(
        SchedulerSettings, block(enabled=True, globalMaxRetries=7, defaultPolicyName="fleet-default")
    )
    engine = settings.retry_settings()
    assert (engine.enabled, engine.global_max_retries, engine.default_policy) == (True, 7, "fleet-default")


def test_the_engine_is_off_where_the_file_says_nothing() -> None:
    assert parse_settings(SchedulerSettings, {}).retry_settings().enabled is False
    assert parse_settings(SchedulerSettings, block(globalMaxRetries=9)).retry_settings().enabled is False


def test_the_global_cap_bounds_the_retries_of_a_job_whatever_its_policy_says() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", limit=9)
        job_id = await s.submit(exits(1))
        assert len((await s.ended(job_id)).runs) == 3
        assert (await s.failures(job_id))[-1].reason.startswith("Retry policy: global max retries exceeded (2/2)")

    live(scenario, block(enabled=True, globalMaxRetries=2))


def test_the_default_policy_decides_for_queues_without_one() -> None:
    async def scenario(s: System) -> None:
        await s.policy("fleet-default", limit=1)
        await s.queue("plain")
        default, own = await s.submit(exits(1), queue="plain"), await s.submit(exits(1))
        assert len((await s.ended(default)).runs) == 2
        assert len((await s.ended(own)).runs) == 4
        assert {verdict["policy"] for verdict in await s.verdicts(default)} == {"fleet-default"}
        assert {verdict["policy"] for verdict in await s.verdicts(own)} == {"p"}

    live(scenario, block(enabled=True, defaultPolicyName="fleet-default"))


def test_one_named_policy_turns_retries_on_for_the_whole_fleet() -> None:
    async def scenario(s: System) -> None:
        await s.policy("fleet-default", limit=1)
        for queue in ("a", "b", "c"):
            await s.queue(queue)
            job = await s.ended(await s.submit(exits(1, 1), queue=queue))
            assert job.state is JobState.SUCCEEDED

    live(scenario, block(enabled=True, defaultPolicyName="fleet-default"))


def test_without_a_default_only_queues_with_a_policy_get_decisions() -> None:
    async def scenario(s: System) -> None:
        await s.queue("plain")
        plain, attached = await s.submit(exits(1), queue="plain"), await s.submit(exits(1))
        await s.ended(plain)
        await s.ended(attached)
        assert [verdict["gate"] for verdict in await s.verdicts(plain)] == ["no_policy"]
        assert [verdict["gate"] for verdict in await s.verdicts(attached)] == ["passed"] * 4

    live(scenario)


def test_every_other_queue_behaves_as_with_the_engine_off() -> None:
    async def scenario(s: System) -> tuple[list[str], str, list[str], str]:
        await s.queue("plain")
        failing = await s.submit(exits(1), queue="plain")
        await s.ended(failing)
        returned = await s.submit_where_the_name_is_taken("plain")
        await s.ended(returned)
        texts = [(await s.failures(job_id))[0].reason.partition("armada-")[0] for job_id in (failing, returned)]
        return await s.told(failing), texts[0], await s.told(returned), texts[1]

    on, off = live(scenario, block(enabled=True)), live(scenario, {})
    assert on == off
    assert on[1] == "Container main failed with exit code 1 because Error: \n"
    assert on[3].startswith("Maximum number of attempts (4) reached - this job will no longer be retried")


@pytest.mark.parametrize("capable", [True, False])
def test_an_executor_that_was_not_upgraded_gets_no_decisions_and_is_named(*, capable: bool) -> None:
    async def scenario(p: Play) -> None:
        p.host.contents.jobs[JOB] = job_of(run_of(1))
        p.host.contents.queues["queue-a"] = ("p",)
        p.host.policies.append(PolicyDocument("p", {"retryLimit": 3, "defaultAction": "Retry"}))
        await p.start()
        east = p.executor(capabilities=("delete_action",) if capable else ())
        await east.hello(entry_of("run-1"))
        await east.acknowledged(report_of(ReportKind.FAILED))
        [verdict] = p.host.contents.verdicts.values()
        assert verdict.gate == ("passed" if capable else "executor_not_capable")
        assert verdict.retry is capable
        assert p.metric("refloat_executor_not_capable_total", executor=EXECUTOR) == (None if capable else 1)
        warned = [text for text in p.texts("warning") if "delete_action" in text]
        assert len(warned) == (0 if capable else 1)

    play(scenario, ENGINE_ON)

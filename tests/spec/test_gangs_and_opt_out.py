"""The specification's sections *Gang jobs* and *Per-job opt-out*."""

import pytest

from refloat_common.core.taxonomy import ANNOTATION_FAIL_FAST, ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_scheduler.core.model import JobState, RunState
from refloat_scheduler.core.retry.gates import RetrySettings, pass_gates
from refloat_scheduler.core.signals import Level, Metric, Note, Sample
from testkit.scheduling.makers import job_of, run_of
from testkit.whole.system import System, exits, live, rule

SKIPPED = "armada_scheduler_retry_policy_gang_skipped_total"


@pytest.mark.parametrize("size", [2, 3])
def test_a_member_of_a_gang_is_not_decided_by_the_engine(size: int) -> None:
    async def scenario(s: System) -> None:
        first, *others = await s.submit_gang(exits(1, 1), *["succeed"] * (size - 1))
        await s.ended(first)
        assert [verdict["gate"] for verdict in await s.verdicts(first)] == ["gang"]
        assert s.metric("armada_scheduler_retry_policy_decisions_total", **_labels("retry")) is None
        for other in others:
            assert (await s.ended(other)).state is JobState.SUCCEEDED

    live(scenario)


def _labels(decision: str) -> dict[str, str]:
    return {"queue": "q", "pool": "default", "policy": "p", "decision": decision}


def test_a_gangs_members_are_not_restarted_together_and_each_failure_ends_its_own_job() -> None:
    async def scenario(s: System) -> None:
        failing, other = await s.submit_gang(exits(1, 1), '{"outcome": "succeed", "afterMs": 5000}')
        assert (await s.ended(failing)).state is JobState.FAILED
        job = await s.ended(other)
        assert (job.state, len(job.runs)) == (JobState.SUCCEEDED, 1)

    live(scenario)


def test_a_gang_of_2_is_never_retried_even_if_a_rule_matches() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app"), default="Retry", limit=9)
        for job_id in await s.submit_gang(exits(1, 1), exits(1, 1)):
            job = await s.ended(job_id)
            assert (job.state, len(job.runs)) == (JobState.FAILED, 1)
            [event] = await s.failures(job_id)
            assert (event.retryable, event.failure_category) == (False, "app")

    live(scenario)


def test_each_skipped_decision_is_counted_and_logged_at_debug_level() -> None:
    async def scenario(s: System) -> None:
        for job_id in await s.submit_gang(exits(1), exits(1)):
            await s.ended(job_id)
            text = f'job {job_id} is in a gang: retry policy "p" does not decide its failure'
            assert text in set(s.logged("debug"))
        assert s.metric(SKIPPED, policy="p") == 2

    live(scenario)


def test_the_count_names_the_policy_that_would_have_applied_even_if_it_is_missing() -> None:
    gang = {ANNOTATION_GANG_ID: "g", ANNOTATION_GANG_CARDINALITY: "2"}
    job, settings = job_of(run_of(1, RunState.FAILED), annotations=gang), RetrySettings(enabled=True)
    passage = pass_gates(job, job.runs[0], ("gone",), {}, settings, capable=True)
    assert passage.samples == (Sample(Metric.GANG_SKIPPED, (("policy", "gone"),)),)
    assert passage.notes == (
        Note(Level.DEBUG, 'job job-a is in a gang: retry policy "gone" does not decide its failure'),
    )


def test_a_gang_of_1_is_a_plain_job_and_is_retried() -> None:
    async def scenario(s: System) -> None:
        [job_id] = await s.submit_gang(exits(1, 1))
        job = await s.ended(job_id)
        assert (job.state, len(job.runs)) == (JobState.SUCCEEDED, 2)
        assert s.metric(SKIPPED, policy="p") is None

    live(scenario)


# ---- failFast


def test_a_fail_fast_job_bypasses_the_engine() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 1), annotations={"armadaproject.io/failFast": "true"})
        await s.ended(job_id)
        [verdict] = await s.verdicts(job_id)
        assert (verdict["gate"], verdict["decision"]) == ("fail_fast", "")
        assert s.metric("armada_scheduler_retry_policy_decisions_total", **_labels("retry")) is None
        [event] = await s.failures(job_id)
        assert event.reason == "Container main failed with exit code 1 because Error: \n"

    live(scenario)


def test_a_fail_fast_job_fails_on_its_first_failure_whatever_the_policy() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app"), limit=9, default="Retry")
        job_id = await s.submit(exits(1, 1), annotations={ANNOTATION_FAIL_FAST: "true"})
        job = await s.ended(job_id)
        assert (job.state, len(job.runs)) == (JobState.FAILED, 1)
        assert (await s.told(job_id))[-1] == "failed(final)"

    live(scenario)


@pytest.mark.parametrize("value", ["false", "True", "", "1"])
def test_only_the_exact_text_true_opts_out(value: str) -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(1, 1), annotations={ANNOTATION_FAIL_FAST: value})
        assert (await s.ended(job_id)).state is JobState.SUCCEEDED

    live(scenario)


def test_a_returned_lease_ends_a_fail_fast_job_too() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit_where_the_name_is_taken(annotations={ANNOTATION_FAIL_FAST: "true"})
        assert len((await s.ended(job_id)).runs) == 1
        [event] = await s.failures(job_id)
        assert event.reason.startswith("Job has fail fast flag set - this job will no longer be retried\n")

    live(scenario)

"""The specification's section *Retry budgets*: what is counted, against which limits, and the kill switch."""

import anyio
import pytest

from refloat_cli.main import main
from refloat_common.core.jsontypes import JsonValue
from refloat_common.core.settings import SettingsError, merge_trees, parse_settings
from refloat_host.core.orders import Order
from refloat_host.core.selection import Selection
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.core.model import ErrorKind, JobState, Run, RunState
from refloat_scheduler.core.retry.settle import Settlement, settle_failure
from refloat_scheduler.core.retry.texts import lease_expired
from refloat_scheduler.settings import SchedulerSettings
from testkit.scheduling.makers import EXECUTOR, error_of, job_of, policy_of, returned_error, rules_of, run_of
from testkit.scheduling.makers import rule as core_rule
from testkit.style.tree import ROOT
from testkit.whole.system import ENGINE_ON, System, Tree, exits, live, node, rule

BOTH = {"E1": (node("n1"),), "E2": (node("n2"),)}
SHORT_LEASE = merge_trees([ENGINE_ON, {"executorTimeout": "2m"}])
KILL_SWITCH = ROOT / "tests/data/kill_switch.yaml"
GENEROUS = policy_of(core_rule("Retry", "oom"), limit=99)


def capped(cap: object, **more: object) -> Tree:
    return {"scheduling": {"maxRetries": 20, "retryPolicy": {"enabled": True, "globalMaxRetries": cap, **more}}}


async def reasons(s: System, job_id: str) -> list[str]:
    """Why each run of a job was judged as it was."""
    return [str(verdict["reason"]) for verdict in await s.verdicts(job_id)]  # type: ignore[arg-type]  # an id


def settled(*runs: Run, limit: int = 3, cap: int = 9) -> Settlement:
    """The verdict over the last of these runs, under a rule that retries it."""
    job = job_of(*runs)
    rules = rules_of(policy_of(core_rule("Retry", "oom"), limit=limit), global_max_retries=cap)
    return settle_failure(job, rules.circumstances(job, EXECUTOR))


@pytest.mark.parametrize(
    ("limit", "cap", "reason"),
    [(1, 9, "policy retry limit exceeded (1/1)"), (9, 1, "global max retries exceeded (1/1)")],
    ids=["policy", "scheduler"],
)
def test_both_limits_bound_the_retries(limit: int, cap: int, reason: str) -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", limit=limit)
        job_id = await s.submit(exits(1))
        assert len((await s.ended(job_id)).runs) == 2
        assert (await reasons(s, job_id))[-1] == reason

    live(scenario, capped(cap))


# ---- retryLimit


def test_the_limit_counts_retries_and_not_attempts() -> None:
    assert [settled(*_failures(n), limit=1).retry for n in (1, 2)] == [True, False]
    assert settled(*_failures(1), limit=1).explanation.retries_used == 0
    assert settled(*_failures(2), limit=1).explanation.retries_used == 1


def _failures(count: int) -> list[Run]:
    return [run_of(i + 1, RunState.FAILED) for i in range(count)]


def test_a_limit_of_3_allows_4_attempts() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", limit=3)
        job_id = await s.submit(exits(1))
        assert len((await s.ended(job_id)).runs) == 4
        assert [event.retryable for event in await s.failures(job_id)] == [True, True, True, False]

    live(scenario)


def test_a_limit_of_0_fails_on_the_first_failure() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", limit=0)
        job_id = await s.submit(exits(1))
        assert len((await s.ended(job_id)).runs) == 1
        assert await reasons(s, job_id) == ["policy retry limit exceeded (0/0)"]

    live(scenario)


# ---- returned and expired leases


def test_a_returned_lease_consumes_no_budget() -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", limit=1)
        job_id = await s.submit_where_the_name_is_taken(script=exits(1))
        await s.reached(job_id, lambda job: len(job.runs) >= 3)
        s.give_name_back(job_id)
        job = await s.ended(job_id)
        returned = [run for run in job.runs if run.returned]
        failed = [run for run in job.runs if not run.returned]
        assert (len(returned) >= 3, len(failed)) == (True, 2)
        last = (await s.verdicts(job_id))[-1]
        assert (last["failures"], last["retries_used"], last["reason"]) == (
            2,
            1,
            "policy retry limit exceeded (1/1)",
        )

    live(scenario, capped(9))


def test_returned_and_expired_leases_are_told_apart() -> None:
    returned = run_of(1, RunState.FAILED, returned=True, error=returned_error())
    expired = run_of(1, RunState.FAILED, error=lease_expired())
    for first, used in ((returned, 0), (expired, 1)):
        found = settled(first, run_of(2, RunState.FAILED))
        assert (found.explanation.failures, found.explanation.retries_used) == (used + 1, used)


@pytest.mark.parametrize(
    ("limit", "cap", "reason"),
    [(1, 9, "policy retry limit exceeded (1/1)"), (9, 1, "global max retries exceeded (1/1)")],
    ids=["policy", "scheduler"],
)
def test_an_expired_lease_consumes_both_budgets(limit: int, cap: int, reason: str) -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", limit=limit)
        await s.daemon.queues.cordon("q", cordoned=True)
        job_id = await s.submit('{"outcome": "exit", "code": 1, "afterMs": 600000}')
        await s.daemon.queues.cordon("q", cordoned=False)
        job = await s.reached(job_id, lambda job: bool(job.runs) and job.runs[0].state is RunState.RUNNING)
        s.cut(job.runs[0].executor)
        await anyio.sleep(1)
        job = await s.ended(job_id, within_s=1800)
        kinds = [run.error.kind for run in job.runs if run.error]
        assert kinds == [ErrorKind.LEASE_EXPIRED, ErrorKind.POD_ERROR]
        assert await reasons(s, job_id) == ["no rule matched, using default action", reason]

    live(scenario, merge_trees([SHORT_LEASE, capped(cap)]), clusters=BOTH)


# ---- preemption


@pytest.mark.parametrize("state", [RunState.PREEMPTED, RunState.FAILED])
def test_a_preemption_consumes_nothing(state: RunState) -> None:
    error = error_of(kind=ErrorKind.JOB_RUN_PREEMPTED)
    preempted = [run_of(i, state, preempted=True, error=error) for i in (1, 2, 3)]
    for limit, cap in ((1, 9), (9, 1)):
        found = settled(*preempted, run_of(4, RunState.FAILED), limit=limit, cap=cap)
        assert (found.retry, found.explanation.failures, found.explanation.retries_used) == (True, 1, 0)


def test_a_job_that_was_preempted_before_has_its_full_budget() -> None:
    preempted = run_of(1, RunState.PREEMPTED, preempted=True)
    verdicts = [settled(preempted, *_from(2, count), limit=3).retry for count in (1, 2, 3, 4)]
    assert verdicts == [True, True, True, False]


def _from(first: int, count: int) -> list[Run]:
    return [run_of(first + i, RunState.FAILED) for i in range(count)]


def test_a_preempted_run_is_not_retried_and_not_judged_as_a_failure() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit("run")
        await s.reached(job_id, lambda job: bool(job.runs) and job.runs[0].state is RunState.RUNNING)
        await s.daemon.jobs.preempt(Selection([job_id]), Order("somebody", "room for others"))
        await anyio.sleep(60)
        job = await s.job(job_id)
        assert (job.state, len(job.runs), await s.verdicts(job_id)) == (JobState.PREEMPTED, 1, [])
        assert (await s.told(job_id))[-2:] == ["preempted", "failed(final)"]

    live(scenario)


# ---- globalMaxRetries


def test_the_cap_is_one_ceiling_for_every_policy_of_the_scheduler() -> None:
    async def scenario(s: System) -> None:
        for name, limit in (("a", 9), ("b", 4_000_000_000), ("c", 1)):
            await s.policy(name, limit=limit)
            await s.queue(name, name)
            job = await s.ended(await s.submit(exits(1), queue=name))
            assert len(job.runs) - 1 == min(limit, 2)

    live(scenario, capped(2))


def test_the_cap_counts_the_same_failures_as_the_limit() -> None:
    history = [
        run_of(1, RunState.FAILED, returned=True, error=returned_error()),
        run_of(2, RunState.FAILED, error=lease_expired()),
        run_of(3, RunState.PREEMPTED, preempted=True),
        run_of(4, RunState.FAILED),
    ]
    for bound in (1, 2):
        by_policy = settled(*history, limit=bound, cap=9)
        by_cap = settled(*history, limit=9, cap=bound)
        assert by_policy.retry is by_cap.retry is (bound == 2)


def test_the_legacy_limit_bounds_returned_leases_separately() -> None:
    """Engine retries do not use it up, and returned leases do not use up the engine's budgets."""

    async def scenario(s: System) -> None:
        await s.policy("p", limit=5)
        failing = await s.submit(exits(1))
        assert len((await s.ended(failing)).runs) == 6
        returned = await s.submit_where_the_name_is_taken()
        job = await s.ended(returned)
        assert [run.returned for run in job.runs] == [True] * 3
        [event] = await s.failures(returned)
        assert event.reason.startswith("Maximum number of attempts (3) reached")

    tree = {"scheduling": {"maxRetries": 2, "retryPolicy": {"enabled": True, "globalMaxRetries": 5}}}
    live(scenario, tree)


def test_a_job_that_failed_often_can_still_return_its_lease() -> None:
    failures = [run_of(i + 1, RunState.FAILED) for i in range(5)]
    returned = run_of(6, RunState.FAILED, returned=True, error=returned_error())
    job = job_of(*failures, returned)
    assert settle_failure(job, rules_of(GENEROUS, attempt_limit=2).circumstances(job, EXECUTOR)).retry


# ---- the kill switch


@pytest.mark.parametrize("default", ["Retry", "Fail"])
def test_a_cap_of_0_disables_all_engine_retries(default: str) -> None:
    async def scenario(s: System) -> None:
        await s.policy("p", rule("Retry", "app"), rule("Retry", "oom"), limit=9, default=default)
        for script in (exits(1), exits(21)):
            assert len((await s.ended(await s.submit(script))).runs) == 1

    live(scenario, capped(0))


def test_with_the_cap_at_0_no_history_and_no_policy_gets_a_retry() -> None:
    for policy in (GENEROUS, policy_of(limit=99, default="Retry"), policy_of(core_rule("Retry", "oom", factor=2))):
        for job in (job_of(*_failures(1)), job_of(*_failures(4))):
            rules = rules_of(policy, global_max_retries=0)
            found = settle_failure(job, rules.circumstances(job, EXECUTOR))
            assert (found.retry, found.decided, found.explanation.decision) == (False, True, "fail_global_limit")


def test_with_the_cap_at_0_the_engine_still_decides_and_attributes() -> None:
    async def scenario(s: System) -> None:
        job_id = await s.submit(exits(21))
        await s.ended(job_id)
        [event] = await s.failures(job_id)
        assert (event.retryable, event.failure_category, event.failure_subcategory) == (False, "gpu", "transient")
        assert event.reason.startswith("Retry policy: global max retries is 0, retries disabled\n")
        labels = {"queue": "q", "pool": "default", "policy": "p", "decision": "fail_global_limit"}
        assert s.metric("armada_scheduler_retry_policy_decisions_total", **labels) == 1

    live(scenario, capped(0))


def test_the_kill_switch_changes_no_events_but_the_verdict() -> None:
    """The stream of a declined failure has the same events and fields, whichever limit declined it."""

    async def scenario(s: System) -> list[tuple[str, object]]:
        await s.policy("p", limit=0)
        job_id = await s.submit(exits(21))
        await s.ended(job_id)
        return [(event.NAME, _without_ids(event)) for event in await s.events(job_id)]

    def _without_ids(event: object) -> object:
        if not isinstance(event, JobFailed):
            return None
        return (event.cause, event.node_name, event.container_statuses, event.failure_category, event.retryable)

    assert live(scenario, capped(0)) == live(scenario, capped(5))


def test_the_kill_switch_is_warned_of_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["host", "check-config", "--config", str(KILL_SWITCH)]) == 0
    warning = "warning: scheduling.retryPolicy.enabled is true but globalMaxRetries is 0"
    assert warning in capsys.readouterr().err
    assert parse_settings(SchedulerSettings, capped(1)).warnings() == ()
    assert parse_settings(SchedulerSettings, {"scheduling": {"retryPolicy": {"globalMaxRetries": 0}}}).warnings() == ()


@pytest.mark.parametrize("cap", [-1, "unlimited", "", None, "inf", 1.5])
def test_there_is_no_unlimited_setting(cap: JsonValue) -> None:
    with pytest.raises(SettingsError, match="globalMaxRetries"):
        parse_settings(SchedulerSettings, capped(cap))


def test_every_deployment_with_the_engine_has_a_finite_bound() -> None:
    """Also one whose file does not say which: it is 5 then."""
    settings = parse_settings(SchedulerSettings, ENGINE_ON).retry_settings()
    assert settings.global_max_retries == 5
    for failures, retried in ((5, True), (6, False)):
        job = job_of(*_failures(failures))
        rules = rules_of(GENEROUS, global_max_retries=settings.global_max_retries)
        assert settle_failure(job, rules.circumstances(job, EXECUTOR)).retry is retried

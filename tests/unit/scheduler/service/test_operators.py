"""What an operator orders about an executor: durable before it is answered, and in force at once."""

import anyio
import pytest

from refloat_common.core.ids import ExecutorId
from refloat_scheduler.core.leases.states import ExecutorState, OperatorAction
from refloat_scheduler.core.model import JobState
from refloat_scheduler.service.contract import StoreUnavailable
from testkit.scheduling.desk import entry_of
from testkit.scheduling.makers import EXECUTOR, JOB, job_of, nodes_of, run_of
from testkit.scheduling.plugin import Play, PlayedExecutor, play


async def begun(p: Play) -> PlayedExecutor:
    p.host.contents.jobs[JOB] = job_of(run_of(1))
    await p.start()
    east = p.executor()
    await east.hello(entry_of("run-1"))
    assert p.view().may_lease
    return east


def test_a_cordon_outlives_the_scheduler_and_ends_with_an_uncordon() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        await p.plugin.operate(EXECUTOR, OperatorAction.CORDON)
        assert (p.view().why_not, p.view().cordoned) == ("cordoned", True)
        assert p.host.contents.executors[EXECUTOR].cordoned
        p.kill()
        await p.start()
        await east.hello(entry_of("run-1"))
        assert p.view().why_not == "cordoned"
        await p.plugin.operate(EXECUTOR, OperatorAction.UNCORDON)
        assert (p.view().may_lease, p.host.contents.executors[EXECUTOR].cordoned) == (True, False)
        assert p.host.contents.jobs[JOB].state is JobState.LEASED

    play(scenario)


def test_expire_gives_the_runs_verdicts_now_though_the_executor_speaks() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        await p.plugin.operate(EXECUTOR, OperatorAction.EXPIRE)
        assert p.view().state is ExecutorState.LOST
        await p.until(lambda: p.host.contents.jobs[JOB].state is JobState.FAILED)
        answer = await east.answered(runs=[entry_of("run-1")])
        assert answer.kills == ["run-1"]
        assert p.view().may_lease

    play(scenario)


def test_release_lets_one_executor_expire_in_spite_of_self_preservation() -> None:
    async def scenario(p: Play) -> None:
        await begun(p)
        for name in ("exec-2", "exec-3"):
            await p.executor(name).hello()
        await anyio.sleep(3700)
        assert p.view().state is ExecutorState.SUSPECT
        await p.plugin.operate(EXECUTOR, OperatorAction.RELEASE)
        await anyio.sleep(3)
        assert p.view().state is ExecutorState.LOST
        assert p.view("exec-2").state is ExecutorState.SUSPECT
        assert p.host.contents.jobs[JOB].state is JobState.FAILED

    play(scenario)


def test_a_decommissioned_executor_gets_nothing_and_its_nodes_count_no_more() -> None:
    async def scenario(p: Play) -> None:
        east = await begun(p)
        east.tell_nodes(*nodes_of("node-1"))
        await p.until(lambda: p.metric("refloat_fleet_nodes") == 1)
        await p.plugin.operate(EXECUTOR, OperatorAction.DECOMMISSION)
        assert (p.view().why_not, p.metric("refloat_fleet_nodes")) == ("decommissioned", 0)
        await p.until(lambda: p.host.contents.jobs[JOB].state is JobState.FAILED)
        assert p.host.contents.executors[EXECUTOR].decommissioned
        p.kill()
        await p.start()
        assert (p.view().why_not, p.metric("refloat_fleet_nodes")) == ("decommissioned", 0)
        await p.plugin.operate(EXECUTOR, OperatorAction.UNCORDON)
        assert p.metric("refloat_fleet_nodes") == 1

    play(scenario)


def test_an_unknown_executor_is_an_error_and_a_store_that_is_down_changes_nothing() -> None:
    async def scenario(p: Play) -> None:
        await begun(p)
        with pytest.raises(KeyError, match="exec-9"):
            await p.plugin.operate(ExecutorId("exec-9"), OperatorAction.CORDON)
        p.host.down = True
        with pytest.raises(StoreUnavailable):
            await p.plugin.operate(EXECUTOR, OperatorAction.CORDON)
        assert not p.view().cordoned

    play(scenario)

"""Executors from the command line, on a real server over a plugin that notes what it is told."""

import json
from dataclasses import replace

import pytest

from refloat_common.core.ids import ExecutorId
from refloat_scheduler.core.leases.states import ExecutorState, OperatorAction
from testkit.ctl.running import Ctl, done, refused
from testkit.host.api_jobs import leased
from testkit.host.bench import executor_view

pytestmark = pytest.mark.anyio

EAST = executor_view("east", 7)
WEST = replace(
    executor_view("west", 0, may_lease=False, unacknowledged=2, pool="gpu"),
    state=ExecutorState.SUSPECT,
    cordoned=True,
    silent_for_s=912.34,
    why_not="it is silent",
)
NORTH = replace(executor_view("north", 0, may_lease=False), state=ExecutorState.UNKNOWN, silent_for_s=None)


@pytest.fixture(autouse=True)
def executors(ctl: Ctl) -> None:
    ctl.api.plugin.views = [EAST, NORTH, WEST]


async def test_executors_are_shown_with_the_health_of_their_leases(ctl: Ctl) -> None:
    await ctl("create", "queue", "q")
    await leased(ctl.api)
    assert await ctl("get", "executors") == done(
        """
        NAME    STATE     LEASES   POOL      RUNS   UNACKNOWLEDGED   FREE   SILENT        NOTES
        east    live      yes      default   1      0                7      0.0s          -
        north   unknown   no       default   0      0                0      never heard   -
        west    suspect   no       gpu       0      2                0      912.3s        cordoned; it is silent
        """
    )


async def test_executors_as_json_are_a_list(ctl: Ctl) -> None:
    listed = json.loads((await ctl("get", "executors", "-o", "json")).out)
    assert [line["executor"] for line in listed] == ["east", "north", "west"]
    assert listed[2] == {
        "executor": "west",
        "state": "suspect",
        "mayLease": False,
        "whyNot": "it is silent",
        "pool": "gpu",
        "runs": 0,
        "unacknowledged": 2,
        "freeSlots": 0,
        "cordoned": True,
        "decommissioned": False,
        "silentForS": 912.34,
    }


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("cordon", "Cordoned executor east"),
        ("uncordon", "Uncordoned executor east"),
        ("expire", "Expired executor east: its runs are given verdicts now"),
        ("release", "Released executor east: self-preservation no longer holds its runs back"),
        ("decommission", "Decommissioned executor east: it is not waited for any more"),
    ],
)
async def test_an_order_reaches_the_plugin(ctl: Ctl, order: str, said: str) -> None:
    assert await ctl("executor", order, "east") == done(f"{said}\n")
    assert ctl.api.plugin.orders == [(ExecutorId("east"), OperatorAction(order))]


async def test_every_order_of_the_plugin_has_a_command(ctl: Ctl) -> None:
    for action in OperatorAction:
        assert (await ctl("executor", action.value, "east")).code == 0


async def test_an_order_about_an_unknown_executor_is_refused(ctl: Ctl) -> None:
    assert await ctl("executor", "cordon", "nobody") == refused(
        'error carrying out cordon for executor nobody: could not find executor "nobody"; '
        "see what there is with: refloatctl get executors"
    )
    assert ctl.api.plugin.orders == []

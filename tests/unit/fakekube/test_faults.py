"""A plan of faults is taken down call by call."""

from refloat_fakekube.core.protocol.faults import Fault, FaultPlan
from refloat_fakekube.core.protocol.routes import Route
from refloat_fakekube.core.resources import NODES, PODS
from refloat_fakekube.core.store.requests import Target

CREATE = Route("create", Target(PODS, "default"))
STATUS = Route("patch", Target(PODS, "default", "a"), "status")
NODE = Route("get", Target(NODES, "", "n"))


def test_faults_are_used_up_in_their_order() -> None:
    plan = FaultPlan()
    plan.add(Fault(verb="create", code=500, count=2))
    plan.add(Fault(code=429))
    taken = [plan.take(route) for route in (CREATE, NODE, CREATE, CREATE)]
    assert [fault.code if fault else None for fault in taken] == [500, 429, 500, None]


def test_a_subresource_is_meant_only_by_its_own_name() -> None:
    plan = FaultPlan()
    plan.add(Fault(resource="pods"))
    assert plan.take(STATUS) is None
    plan.add(Fault(resource="pods/status"))
    assert plan.take(STATUS) == Fault(resource="pods/status")


def test_what_is_waiting_can_be_seen_and_forgotten() -> None:
    plan = FaultPlan()
    plan.add(Fault(count=3))
    plan.take(NODE)
    assert list(plan.waiting()) == [Fault(count=2)]
    plan.clear()
    assert plan.take(NODE) is None

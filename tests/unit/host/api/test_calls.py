"""A service is bound to exactly the calls that carry its methods out."""

import pytest
from armada_client.armada import event_pb2
from google.protobuf.empty_pb2 import Empty

from refloat_host.api.answers import Desk
from refloat_host.api.calls import Call, MethodTableError, Streams, handler_of
from refloat_host.api.messages.jobs import priority_of
from refloat_host.core.errors import InvalidFieldError

EVENT = event_pb2.DESCRIPTOR.services_by_name["Event"]


def _no_log(_level: str, _message: str, _values: object) -> None:
    pass


def _no_count(_method: str, _status: str) -> None:
    pass


async def _nothing(_: Empty) -> Empty:
    return Empty()


@pytest.mark.parametrize(
    ("names", "odd"),
    [
        (["GetJobSetEvents", "Watch"], "Health"),
        (["GetJobSetEvents", "Watch", "Health", "Fly", "Sing"], "Fly, Sing"),
        (["GetJobSetEvents", "Watch", "health"], "Health, health"),
    ],
)
def test_a_table_that_is_not_the_services_is_refused(names: list[str], odd: str) -> None:
    with pytest.raises(MethodTableError) as refused:
        handler_of(EVENT, {name: Call(_nothing, "") for name in names}, Streams(), Desk(_no_log, _no_count))
    assert str(refused.value) == f"api.Event: methods without a call, or calls without a method: {odd}"


@pytest.mark.parametrize(
    ("priority", "whole"),
    [(0.0, 0), (0.49, 0), (0.5, 1), (1.5, 2), (2.5, 3), (4_294_967_295.0, 4_294_967_295)],
)
def test_priorities_are_rounded_half_up(priority: float, whole: int) -> None:
    assert priority_of(priority, "priority") == whole


@pytest.mark.parametrize("priority", [-0.1, 4_294_967_295.5, float("nan"), float("-inf")])
def test_priorities_beyond_the_range_are_refused(priority: float) -> None:
    with pytest.raises(InvalidFieldError, match="must be between 0 and 4294967295"):
        priority_of(priority, "priority")

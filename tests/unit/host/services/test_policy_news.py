"""A change of the stored policies is told to the scheduler at once."""

import pytest

from refloat_common.core.jsontypes import JsonObject
from refloat_host.core.errors import NotFoundError
from refloat_host.services.policies import PolicyService
from testkit.host.bench import Bench

pytestmark = pytest.mark.anyio

POLICY: JsonObject = {"name": "p", "retryLimit": 1, "defaultAction": "Retry"}


async def test_each_change_is_told_once(bench: Bench) -> None:
    told: list[str] = []
    service = PolicyService(bench.store, bench.clock, lambda: told.append("changed"))
    await service.create(POLICY)
    await service.update(POLICY)
    await service.delete("p")
    assert told == ["changed"] * 3


async def test_what_is_refused_is_not_told(bench: Bench) -> None:
    told: list[str] = []
    service = PolicyService(bench.store, bench.clock, lambda: told.append("changed"))
    with pytest.raises(NotFoundError):
        await service.update(POLICY)
    assert told == []

"""Rule 5: only one scheduler writes. Who has lost the store to another is refused, or the other is."""

from contextlib import AsyncExitStack

import pytest

from refloat_scheduler.conformance.rules.conftest import Open
from refloat_scheduler.conformance.samples import applied, mark, marked
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.service.contract import StoreUnavailable

pytestmark = pytest.mark.anyio


async def test_two_hosts_never_write_to_one_store(subject: Subject, again: Open) -> None:
    """A second host is kept out for as long as the first one lives, or the first one can write no more."""
    await applied(subject, mark(1))
    async with AsyncExitStack() as stack:
        try:
            second = await stack.enter_async_context(again())
        except Exception:  # noqa: BLE001  how a host says no is its own affair
            await applied(subject, mark(2))
            assert await marked(subject) == 2
            return
        assert await marked(second) == 1
        await applied(second, mark(3))
        with pytest.raises(StoreUnavailable):
            await applied(subject, mark(4))
        assert await marked(second) == 3


async def test_the_next_host_finds_what_the_last_one_left(again: Open) -> None:
    """After a clean end."""
    async with again() as first:
        await applied(first, mark(1))
    async with again() as second:
        assert await marked(second) == 1
        await applied(second, mark(2))
        assert await marked(second) == 2

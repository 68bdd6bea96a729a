"""Rule 1: work runs synchronously, alone, on a consistent view."""

import time

import anyio
import pytest

from refloat_scheduler.conformance.samples import EAST, JOURNAL, mark, marked
from refloat_scheduler.conformance.subject import Subject
from refloat_scheduler.service.contract import Transaction

pytestmark = pytest.mark.anyio
WORKERS = 16


async def test_no_update_is_lost(subject: Subject) -> None:
    """Each of many transactions at once reads a number and writes the next one: all of them count."""

    def add_one(tx: Transaction) -> None:
        tx.apply([mark(tx.high_water(EAST, JOURNAL) + 1)])

    async def one() -> None:
        await subject.host.transact(add_one)

    async with anyio.create_task_group() as tasks:
        for _ in range(WORKERS):
            tasks.start_soon(one)
    assert await marked(subject) == WORKERS


async def test_no_other_work_runs_in_between(subject: Subject) -> None:
    """While one work runs, no other does, in this thread or another."""
    inside: list[int] = []
    overlaps: list[int] = []

    async def one(number: int) -> None:
        def work(tx: Transaction) -> None:
            inside.append(number)
            before = tx.high_water(EAST, JOURNAL)
            tx.apply([mark(before + 1)])
            time.sleep(0.001)
            overlaps.extend(other for other in inside if other != number)
            if tx.high_water(EAST, JOURNAL) != before + 1:
                overlaps.append(number)
            inside.remove(number)

        await subject.host.transact(work)

    async with anyio.create_task_group() as tasks:
        for number in range(WORKERS):
            tasks.start_soon(one, number)
    assert overlaps == []


async def test_what_work_returns_comes_back(subject: Subject) -> None:
    """The value itself, whatever it is."""
    value = object()
    assert await subject.host.transact(lambda _tx: value) is value

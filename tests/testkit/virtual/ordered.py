"""Takes the heap's addresses out of asyncio's and anyio's order of doing things.

Both keep the tasks of a group in a set, ordered by address. When a group is cancelled its tasks are cancelled in that
order, so two runs of one program differ as soon as their heaps do. While `ordered_sets` is on, those modules build
sets that remember insertion instead.
"""

import asyncio.taskgroups
import asyncio.tasks
from collections.abc import Iterable, Iterator, MutableSet
from contextlib import contextmanager
from types import ModuleType
from typing import TypeVar

import anyio._backends._asyncio as anyio_asyncio

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set that iterates in the order of insertion."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: dict[T, None] = dict.fromkeys(items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, value: T) -> None:
        self._items[value] = None

    def discard(self, value: T) -> None:
        self._items.pop(value, None)

    def update(self, items: Iterable[T]) -> None:
        self._items.update(dict.fromkeys(items))

    def copy(self) -> "OrderedSet[T]":
        return OrderedSet(self._items)


PATCHED: tuple[ModuleType, ...] = (asyncio.taskgroups, asyncio.tasks, anyio_asyncio)


class ThreadRefusedError(RuntimeError):
    """Code under virtual time asked for a thread: its finishing time would be the real machine's."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was called under virtual time; threads belong in adapters, which are simulated here")


@contextmanager
def ordered_sets() -> Iterator[None]:
    """Shadow the builtin `set` in the modules whose order of iteration reaches the program; refuse anyio's threads."""
    backend = anyio_asyncio.AsyncIOBackend
    threads = backend.__dict__["run_sync_in_worker_thread"]

    async def refuse(*_: object, **__: object) -> object:
        raise ThreadRefusedError("anyio.to_thread.run_sync")

    for module in PATCHED:
        vars(module)["set"] = OrderedSet
    setattr(backend, "run_sync_in_worker_thread", classmethod(refuse))  # noqa: B010 - mypy refuses the plain form
    try:
        yield
    finally:
        setattr(backend, "run_sync_in_worker_thread", threads)  # noqa: B010 - as above
        for module in PATCHED:
            del vars(module)["set"]

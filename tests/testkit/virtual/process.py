"""A simulated process: a set of tasks that die together, at once, without running another line.

Membership travels in a context variable, so every task that a process starts belongs to it too. The loop looks at
that variable before it runs a callback; callbacks of a dead process are dropped, those of a paused one wait.
"""

import asyncio
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any

from testkit.virtual.ordered import OrderedSet

PRUNE_EVERY_TASKS = 512
MAX_CLOSE_ATTEMPTS = 20


class ProcessKilledError(BaseException):
    """Raised where a process kills itself in the middle of a callback, or where a dead one touches a port.

    Not an `Exception`: nothing in the product may handle it, as nothing handles SIGKILL.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"simulated process {name} is dead")


@dataclass(eq=False, slots=True)
class SimProcess:
    """One incarnation of a simulated process. A restart is a new one with the same name."""

    name: str
    incarnation: int = 0
    alive: bool = True
    paused_until_s: float = 0.0
    main: "asyncio.Task[Any] | None" = None
    tasks: "OrderedSet[asyncio.Task[Any]]" = field(default_factory=OrderedSet)
    _next_prune: int = PRUNE_EVERY_TASKS

    def adopt(self, task: "asyncio.Task[Any]") -> None:
        """Count a task as one of this process; finished ones are forgotten now and then."""
        self.tasks.add(task)
        if len(self.tasks) >= self._next_prune:
            self.tasks = OrderedSet(known for known in self.tasks if not known.done())
            self._next_prune = len(self.tasks) + PRUNE_EVERY_TASKS

    def check(self) -> None:
        """Raise if the process is dead: every port calls this first, so that a resurrected frame can do nothing."""
        if not self.alive:
            raise ProcessKilledError(self.name)


PROCESS: ContextVar[SimProcess | None] = ContextVar("simulated_process", default=None)
"""The simulated process that the running code belongs to; None is the scenario itself."""


def current_process() -> SimProcess:
    """The process that the caller belongs to, alive."""
    process = PROCESS.get()
    if process is None:
        raise LookupError("this port may be used only inside a simulated process")
    process.check()
    return process


class Graveyard:
    """Keeps the frames of dead processes, so that the collector never runs their `finally` blocks during a run."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []

    def bury(self, process: SimProcess) -> None:
        """Take the unfinished tasks of a process; nobody will hear of them again."""
        for task in process.tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio's own switch
                self._tasks.append(task)
        process.tasks = OrderedSet()

    def __len__(self) -> int:
        return len(self._tasks)

    def clear(self) -> None:
        """After the run: unwind the frames where nothing they do can matter, and free them."""
        for task in self._tasks:
            coroutine = task.get_coro()
            for _ in range(MAX_CLOSE_ATTEMPTS):
                with suppress(BaseException):
                    copy_context().run(coroutine.close)
                    break
        self._tasks.clear()

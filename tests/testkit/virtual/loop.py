"""An asyncio event loop whose time is a number: when nothing is ready it jumps to the next timer.

It runs the product's own coroutines on asyncio's own tasks and futures. What differs from the machine's loop: there
is no selector and no thread; ready callbacks run in an order drawn from the seed; callbacks of dead processes are
dropped; a state in which nothing can ever happen again raises at once instead of hanging.
"""

import asyncio
import gc
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, NoReturn

from testkit.virtual.ordered import ThreadRefusedError
from testkit.virtual.process import PROCESS, Graveyard, ProcessKilledError, SimProcess

MAX_CALLBACKS_PER_INSTANT = 1_000_000
COLLECT_EVERY_CALLBACKS = 200_000


class DeadlockError(RuntimeError):
    """Nothing is ready and no timer is set: the run can never go on."""

    def __init__(self, at_s: float, waiting: list[str]) -> None:
        listing = "\n  ".join(waiting)
        super().__init__(f"deadlock at {at_s:.6f} s of virtual time; {len(waiting)} tasks wait:\n  {listing}")


class LivelockError(RuntimeError):
    """Callbacks run on and on at one instant of virtual time."""

    def __init__(self, at_s: float) -> None:
        super().__init__(f"{MAX_CALLBACKS_PER_INSTANT} callbacks ran at {at_s:.6f} s without time moving")


class TimeLimitError(RuntimeError):
    """The run went on beyond the virtual time that it was given."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"the run is not over after {limit_s} s of virtual time")


class VirtualLoop(asyncio.BaseEventLoop):
    """The loop of one run. `shuffle` draws the order of ready callbacks; `limit_s` bounds the virtual time."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool

    def __init__(self, shuffle: random.Random, limit_s: float) -> None:
        super().__init__()
        self._shuffle = shuffle
        self._limit_s = limit_s
        self._now_s = 0.0
        self._at_this_instant = 0
        self._callbacks = 0
        self.graveyard = Graveyard()
        self.processes: dict[str, SimProcess] = {}
        self.scenario = SimProcess("scenario")
        self.errors: list[BaseException] = []
        self.set_task_factory(self._make_task)  # type: ignore[arg-type]  # typeshed wants a generic callable
        self.set_exception_handler(self._note_error)

    def time(self) -> float:
        """Seconds of virtual time since the run began."""
        return self._now_s

    def start_process(self, name: str, main: Callable[[], Coroutine[Any, Any, Any]]) -> SimProcess:
        """Start a process in a context of its own. One name is alive at most once."""
        old = self.processes.get(name)
        if old is not None and old.alive:
            raise RuntimeError(f"simulated process {name} is still alive")
        process = SimProcess(name, incarnation=0 if old is None else old.incarnation + 1)
        self.processes[name] = process
        context = Context()
        context.run(PROCESS.set, process)
        coroutine = context.run(main)
        process.main = self.create_task(coroutine, name=f"{name}#{process.incarnation}", context=context)
        return process

    def kill(self, process: SimProcess) -> None:
        """End a process as SIGKILL does: no further line of it runs. Raises in the caller if that is the process."""
        if not process.alive:
            return
        process.alive = False
        self.graveyard.bury(process)
        if PROCESS.get() is process:
            raise ProcessKilledError(process.name)

    def pause(self, process: SimProcess, for_s: float) -> None:
        """Stop a process for a while, as SIGSTOP or a paused machine does; its timers are due when it wakes."""
        process.paused_until_s = self._now_s + for_s

    def run_in_executor(self, *_: Any) -> NoReturn:  # type: ignore[override]  # it never accepts anything
        """Refused: a thread's finishing time is the real machine's."""
        raise ThreadRefusedError("loop.run_in_executor")

    def finish(self) -> None:
        """Kill what is left and free all frames; the loop is closed afterwards."""
        for process in [*self.processes.values(), self.scenario]:
            process.alive = False
            self.graveyard.bury(process)
        self.close()
        self.graveyard.clear()

    def _run_once(self) -> None:
        self._take_due_timers()
        if not self._ready:
            self._jump()
        batch = list(self._ready)
        self._ready.clear()
        self._shuffle.shuffle(batch)
        for handle in batch:
            if not handle.cancelled():
                self._run_handle(handle)
        self._count(len(batch))

    def _run_handle(self, handle: asyncio.Handle) -> None:
        context: Context = handle._context  # type: ignore[attr-defined]  # asyncio keeps it under this name
        process = context.get(PROCESS)
        if process is None or (process.alive and process.paused_until_s <= self._now_s):
            handle._run()
        elif process.alive:
            self.call_at(process.paused_until_s, self._resume, handle, context=Context())

    def _resume(self, handle: asyncio.Handle) -> None:
        if not handle.cancelled():
            self._run_handle(handle)

    def _take_due_timers(self) -> None:
        while self._scheduled and (self._scheduled[0].cancelled() or self._scheduled[0].when() <= self._now_s):
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]  # as BaseEventLoop does
            if not timer.cancelled():
                self._ready.append(timer)

    def _jump(self) -> None:
        if self._stopping:
            return
        while self._scheduled and self._is_dead(self._scheduled[0]):
            heapq.heappop(self._scheduled)
        if not self._scheduled:
            raise DeadlockError(self._now_s, self._waiting())
        self._now_s = max(self._now_s, self._scheduled[0].when())
        self._at_this_instant = 0
        if self._now_s > self._limit_s:
            raise TimeLimitError(self._limit_s)
        self._take_due_timers()

    @staticmethod
    def _is_dead(timer: asyncio.TimerHandle) -> bool:
        process: SimProcess | None = timer._context.get(PROCESS)  # type: ignore[attr-defined]  # asyncio's name
        return timer.cancelled() or (process is not None and not process.alive)

    def _count(self, callbacks: int) -> None:
        self._at_this_instant += callbacks
        if self._at_this_instant > MAX_CALLBACKS_PER_INSTANT:
            raise LivelockError(self._now_s)
        self._callbacks += callbacks
        if self._callbacks >= COLLECT_EVERY_CALLBACKS:
            self._callbacks = 0
            gc.collect()

    def _waiting(self) -> list[str]:
        living = [process for process in [*self.processes.values(), self.scenario] if process.alive]
        return [f"{process.name}: {task!r}" for process in living for task in process.tasks if not task.done()]

    def _make_task(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, Any],
        *,
        context: Context | None = None,
        **options: Any,
    ) -> asyncio.Task[Any]:
        owner = PROCESS.get() if context is None else context.get(PROCESS)
        task = asyncio.Task(coroutine, loop=loop, context=context, **options)
        (owner or self.scenario).adopt(task)
        return task

    def _note_error(self, _: asyncio.AbstractEventLoop, report: dict[str, Any]) -> None:
        error = report.get("exception")
        if not isinstance(error, ProcessKilledError):
            self.errors.append(error or RuntimeError(str(report.get("message"))))

    def _process_events(self, _: list[Any]) -> None:
        """There are no file descriptors."""

    def _write_to_self(self) -> None:
        raise ThreadRefusedError("loop.call_soon_threadsafe")

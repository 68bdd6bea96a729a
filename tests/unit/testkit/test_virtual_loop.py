"""The virtual loop itself: it jumps, refuses threads, names deadlocks, and lets processes die without a word."""

import asyncio
import time

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from testkit.virtual.clock import EPOCH_MS, SimChance, SimClock
from testkit.virtual.loop import DeadlockError, LivelockError, TimeLimitError
from testkit.virtual.ordered import OrderedSet, ThreadRefusedError
from testkit.virtual.process import ProcessKilledError, SimProcess, current_process
from testkit.virtual.run import World, run_virtual
from testkit.virtual.streams import Streams


def test_a_day_passes_at_once() -> None:
    async def scenario(world: World) -> float:
        await anyio.sleep(86_000)
        return world.loop.time()

    began = time.monotonic()
    assert run_virtual(scenario) == 86_000
    assert time.monotonic() - began < 5


def test_a_state_without_a_future_raises_and_names_who_waits() -> None:
    async def scenario(_: World) -> None:
        await anyio.Event().wait()

    with pytest.raises(DeadlockError, match=r"deadlock at 0\.000000 s of virtual time; 1 tasks wait:\n  scenario: "):
        run_virtual(scenario)


def test_callbacks_without_end_at_one_instant_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: World) -> None:
        assert world.loop.time() == 0
        for _ in range(1_000_000):
            await anyio.lowlevel.checkpoint()

    monkeypatch.setattr("testkit.virtual.loop.MAX_CALLBACKS_PER_INSTANT", 1000)
    with pytest.raises(LivelockError):
        run_virtual(scenario)


def test_a_run_beyond_its_virtual_time_raises() -> None:
    async def scenario(_: World) -> None:
        for _minute in range(100):
            await anyio.sleep(60)

    with pytest.raises(TimeLimitError, match=r"3600"):
        run_virtual(scenario, limit_s=3600)


def test_threads_are_refused() -> None:
    async def through_the_loop(world: World) -> None:
        await world.loop.run_in_executor(None, time.monotonic)

    async def through_anyio(_: World) -> None:
        await anyio.to_thread.run_sync(time.monotonic)

    for scenario in (through_the_loop, through_anyio):
        with pytest.raises(ThreadRefusedError):
            run_virtual(scenario)


def test_an_error_in_a_task_that_nobody_awaits_fails_the_run() -> None:
    async def scenario(world: World) -> None:
        world.loop.call_soon(_raise_value_error)
        await anyio.sleep(1)

    with pytest.raises(ExceptionGroup, match="errors in tasks that nobody awaited"):
        run_virtual(scenario)


def _raise_value_error() -> None:
    raise ValueError("lost")


def test_a_killed_process_runs_no_further_line_not_even_finally() -> None:
    said: list[str] = []

    async def child() -> None:
        try:
            await anyio.sleep(10)
            said.append("woke")
        finally:
            said.append("finally")

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(child)
            group.start_soon(child)

    async def scenario(world: World) -> int:
        process = world.loop.start_process("E1", main)
        await anyio.sleep(5)
        world.loop.kill(process)
        await anyio.sleep(60)
        assert said == []
        return len(world.loop.graveyard)

    assert run_virtual(scenario) == 3


def test_a_process_may_kill_itself_in_mid_callback() -> None:
    said: list[str] = []

    async def scenario(world: World) -> None:
        async def main() -> None:
            process = current_process()
            said.append("before")
            world.loop.kill(process)
            said.append("after")

        world.loop.start_process("E1", main)
        await anyio.sleep(1)

    run_virtual(scenario)
    assert said == ["before"]


def test_a_restart_is_a_new_incarnation_and_the_dead_one_can_use_no_port() -> None:
    async def idle() -> None:
        await anyio.sleep(1000)

    async def scenario(world: World) -> tuple[SimProcess, SimProcess]:
        first = world.loop.start_process("E1", idle)
        with pytest.raises(RuntimeError, match="E1 is still alive"):
            world.loop.start_process("E1", idle)
        world.loop.kill(first)
        return first, world.loop.start_process("E1", idle)

    first, second = run_virtual(scenario)
    assert (first.incarnation, second.incarnation) == (0, 1)
    with pytest.raises(ProcessKilledError):
        first.check()


def test_a_paused_process_wakes_late_and_its_cancelled_timers_stay_cancelled() -> None:
    async def scenario(world: World) -> list[tuple[str, float]]:
        log: list[tuple[str, float]] = []

        async def main() -> None:
            with anyio.move_on_after(10):
                await anyio.sleep(2)
                log.append(("woke", world.loop.time()))
            await anyio.sleep(1)
            log.append(("again", world.loop.time()))

        process = world.loop.start_process("E1", main)
        await anyio.sleep(1)
        world.loop.pause(process, for_s=5)
        await anyio.sleep(30)
        return log

    assert run_virtual(scenario) == [("woke", 6.0), ("again", 7.0)]


def test_two_seeds_order_ready_callbacks_differently_and_one_seed_the_same_way() -> None:
    async def scenario(_: World) -> list[int]:
        order: list[int] = []

        async def task(number: int) -> None:
            await anyio.sleep(1)
            order.append(number)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(task, number)
        return order

    orders = [run_virtual(scenario, seed=seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(20))


def test_streams_do_not_shift_one_another() -> None:
    alone, mixed = Streams(7), Streams(7)
    mixed.of("other").random()
    assert alone.of("net/E1>sched").random() == mixed.of("net/E1>sched").random()
    assert Streams(8).of("net/E1>sched").random() != Streams(7).of("net/E1>sched").random()


def test_clock_and_chance_follow_the_loop_and_the_seed() -> None:
    async def scenario(world: World) -> tuple[float, int, str, str, float]:
        clock = SimClock(world.loop, offset_s=100, rate=1.01, wall_step_ms=-3_600_000)
        chance = SimChance(world.streams, "E1", clock)
        await asyncio.sleep(10)
        return clock.monotonic_s(), clock.utc_ms(), chance.uuid7(), chance.ulid(), chance.fraction()

    first = run_virtual(scenario, seed=3)
    assert first[:2] == (110.1, EPOCH_MS + 10_000 - 3_600_000)
    assert first == run_virtual(scenario, seed=3)
    assert first[2:] != run_virtual(scenario, seed=4)[2:]


def test_the_ordered_set_is_a_set_in_the_order_of_insertion() -> None:
    items = OrderedSet([3, 1, 2, 1])
    items.add(0)
    items.discard(1)
    items.discard(99)
    items.update([5, 3])
    assert list(items) == [3, 2, 0, 5]
    assert set(items) == {0, 2, 3, 5}
    assert list(items.copy() | {9}) == [3, 2, 0, 5, 9]

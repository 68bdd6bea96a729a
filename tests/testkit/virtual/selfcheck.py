"""A scenario full of ties and mass cancels, run by itself: prints the hash of its trace.

`python -m testkit.virtual.selfcheck SEED NOISE`: NOISE objects are made and half of them dropped first, so that every
address of the run differs from that of a clean interpreter.
"""

import asyncio
import sys

import anyio

from testkit.virtual.run import World, run_virtual


async def scenario(world: World) -> str:
    """Fifty tasks wake at one instant, contend for a lock, and are cancelled in one sweep; three times over."""
    lock = anyio.Lock()

    async def worker(number: int) -> None:
        try:
            await anyio.sleep(1)
            async with lock:
                world.trace.add("held", number=number)
                await anyio.sleep(0.1)
            await anyio.sleep(world.streams.of("work").random())
            await anyio.sleep_forever()
        except BaseException:
            world.trace.add("cancelled", number=number)
            raise

    async def plain(number: int) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            world.trace.add("plain", number=number)

    async def fail(after_s: float) -> None:
        await asyncio.sleep(after_s)
        raise ValueError(after_s)

    for _ in range(3):
        with anyio.move_on_after(4):
            async with anyio.create_task_group() as group:
                for number in range(50):
                    group.start_soon(worker, number)
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(50):
                    tasks.create_task(plain(number))
                tasks.create_task(fail(1))
        except* ValueError:
            world.trace.add("failed")
    return world.trace.digest()


def make_noise(count: int) -> list[object]:
    """Objects between which the run's own will lie."""
    objects: list[object] = [bytearray(number % 700) for number in range(count)]
    return objects[::2]


if __name__ == "__main__":
    kept = make_noise(int(sys.argv[2]))
    sys.stdout.write(f"{run_virtual(scenario, seed=int(sys.argv[1]))}\n")

"""Runs one scenario in virtual time: a function of its seed and nothing else."""

import gc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from testkit.virtual.loop import VirtualLoop
from testkit.virtual.ordered import ordered_sets
from testkit.virtual.streams import Streams
from testkit.virtual.trace import Trace

T = TypeVar("T")
DEFAULT_LIMIT_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class World:
    """What a scenario holds: the loop with its processes, chance by name, and the trace."""

    loop: VirtualLoop
    streams: Streams
    trace: Trace


def run_virtual(
    scenario: Callable[[World], Awaitable[T]],
    *,
    seed: int = 0,
    limit_s: float = DEFAULT_LIMIT_S,
) -> T:
    """Run `scenario` to its end in virtual time, kill what it left running, and raise what went wrong unseen.

    The cycle collector runs at counted callbacks only, so that finalisers fall on the same place in each run.
    """
    streams = Streams(seed)
    loop = VirtualLoop(streams.of("schedule"), limit_s)
    world = World(loop, streams, Trace(loop.time))

    async def main() -> T:
        return await scenario(world)

    collecting = gc.isenabled()
    gc.disable()
    try:
        with ordered_sets():
            result = loop.run_until_complete(main())
    finally:
        loop.finish()
        if collecting:
            gc.enable()
    if loop.errors:
        raise ExceptionGroup("errors in tasks that nobody awaited", _plain(loop.errors))
    return result


def _plain(errors: list[BaseException]) -> list[Exception]:
    return [error if isinstance(error, Exception) else RuntimeError(repr(error)) for error in errors]

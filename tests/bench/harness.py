"""What a row of the benchmark is, and how two ways of doing one thing are timed against each other."""

import cProfile
import gc
import pstats
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

_PROFILED_LINES = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: `ours` and `theirs` are in the unit that `target` names, `ratio` says how much better ours is.

    `reason` explains a missed target by what a profile shows; it is empty for a row that met its own.
    """

    name: str
    ours: float
    theirs: float
    ratio: float
    target: str
    met: bool
    reason: str = ""


def interleaved_seconds(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The median seconds of each, timed in turns so that a busy neighbour slows both alike.

    One round of each goes first without being counted. The cycle collector rests while a round is timed.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for round_number in range(rounds + 1):
        for taken, work in zip(times, (ours, theirs), strict=True):
            gc.collect()
            gc.disable()
            began = time.perf_counter()
            work()
            taken_s = time.perf_counter() - began
            gc.enable()
            if round_number:
                taken.append(taken_s)
    return statistics.median(times[0]), statistics.median(times[1])


def where_time_goes(work: Callable[[], object]) -> str:
    """The functions that take most time of their own, as shares of all time."""
    profile = cProfile.Profile()
    profile.runcall(work)
    stats = pstats.Stats(profile).get_stats_profile()
    costly = sorted(stats.func_profiles.items(), key=lambda item: -item[1].tottime)[:_PROFILED_LINES]
    total = stats.total_tt or 1.0
    return ", ".join(f"{name} {costs.tottime / total:.0%}" for name, costs in costly)

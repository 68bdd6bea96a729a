"""Decides which queued job goes to which executor: weighted fair over queues, in order within a queue.

Placement on nodes is Kubernetes' own; here only executors are chosen. A round is worked off in steps, because a
queue's jobs are read from the store a page at a time: a step ends when no slot or no job is left, or when the queue
whose turn it is has run out of its page.

Fairness: the next job comes from the queue with the smallest `(runs + 1) * priority_factor`, so that over time queues
hold slots in inverse proportion to their factors. Within a queue jobs go by priority (lower first), then submit time,
then id; a retried job keeps its submit time and so goes ahead of later ones (Armada facts, section 4.14).
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from refloat_common.core.ids import ExecutorId, JobId


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued job that may be leased. `asks` stands for its requirements: equal ones fit the same executors."""

    job_id: JobId
    priority: int
    submitted_at_ms: int
    asks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One queue's part in a round: how many runs it holds, and the jobs that are next, in order.

    `more`: the store holds further jobs after these.
    """

    queue: str
    priority_factor: float
    runs: int
    heads: tuple[Waiting, ...] = ()
    more: bool = False

    @property
    def claim(self) -> float:
        """The smaller, the sooner it is this queue's turn."""
        return (self.runs + 1) * self.priority_factor


@dataclass(frozen=True, slots=True)
class Assignment:
    """This job goes to this executor."""

    job_id: JobId
    queue: str
    executor: ExecutorId


Fits: TypeAlias = Callable[[str, ExecutorId], bool]
"""Whether some node of the executor could ever take a pod that asks for this (the static-fit probe)."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a step came to.

    `lines` and `slots` go into the next step. `hungry` names the queue whose turn it was when its page ran out; None
    when the round is over. `passed` counts the jobs that no executor with a free slot could take.
    """

    assignments: tuple[Assignment, ...]
    lines: tuple[Line, ...]
    slots: Mapping[ExecutorId, int]
    hungry: str | None = None
    passed: int = 0


@dataclass(slots=True)
class _Turn:
    """The part of a line that changes while a step runs."""

    line: Line
    taken: int = 0
    looked_at: int = 0

    @property
    def rank(self) -> tuple[float, str]:
        line = self.line
        return (line.runs + self.taken + 1) * line.priority_factor, line.queue

    def rest(self) -> Line:
        """The line as the next step finds it."""
        return replace(self.line, runs=self.line.runs + self.taken, heads=self.line.heads[self.looked_at :])


@dataclass(slots=True)
class _Working:
    """A step under way."""

    slots: dict[ExecutorId, int]
    fits: Fits
    limit: int
    assignments: list[Assignment] = field(default_factory=list)
    passed: int = 0

    def take(self, waiting: Waiting, queue: str) -> bool:
        """Give a job to the roomiest executor that could run it; False if there is none."""
        able = [name for name, free in self.slots.items() if free > 0 and self.fits(waiting.asks, name)]
        if not able:
            self.passed += 1
            return False
        chosen = min(able, key=lambda name: (-self.slots[name], name))
        self.slots[chosen] -= 1
        self.assignments.append(Assignment(waiting.job_id, queue, chosen))
        return True

    @property
    def room(self) -> bool:
        return len(self.assignments) < self.limit and any(free > 0 for free in self.slots.values())


def assign(lines: Sequence[Line], slots: Mapping[ExecutorId, int], fits: Fits, limit: int) -> Step:
    """Work off the heads of the lines, fairly, until slots or heads run out.

    Args:
        lines: each queue once; cordoned queues are left out by the caller.
        slots: how many more runs each executor takes; those that may not lease are left out by the caller.
        fits: the static-fit probe.
        limit: how many jobs go at most, whatever room there is.
    """
    working = _Working(dict(sorted(slots.items())), fits, limit)
    turns = {line.queue: _Turn(line) for line in lines}
    ranking = [turn.rank for turn in turns.values()]
    heapq.heapify(ranking)
    hungry: str | None = None
    while ranking and working.room and hungry is None:
        turn = turns[heapq.heappop(ranking)[1]]
        if _next_of(turn, working):
            heapq.heappush(ranking, turn.rank)
        elif turn.line.more and working.room:
            hungry = turn.line.queue
    rest = tuple(turn.rest() for turn in turns.values())
    return Step(tuple(working.assignments), rest, working.slots, hungry, working.passed)


def _next_of(turn: _Turn, working: _Working) -> bool:
    """Take the first job of a queue that can go somewhere; False when its page has none left."""
    heads = turn.line.heads
    while turn.looked_at < len(heads):
        waiting = heads[turn.looked_at]
        turn.looked_at += 1
        if working.take(waiting, turn.line.queue):
            turn.taken += 1
            return True
    return False

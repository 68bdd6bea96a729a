"""Reads the fronts of the queues for one leasing round, a page at a time, and never more than the round's bound."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from refloat_common.core.ids import ExecutorId
from refloat_host.adapters.store.queries import waiting
from refloat_host.adapters.store.queries.waiting import FRONT, Place, place_of
from refloat_host.core.leasing import Assignment, Fits, Line, assign

MAX_PASSED_PER_ROUND = 2000
"""Jobs that one round may pass over because they fit nowhere; the next round goes on from there."""

MIN_PAGE, MAX_PAGE = 8, 256


class Heads:
    """The queues of one round.

    A round begins at the front of every queue. Where jobs that fit nowhere fill more than a round can look at, `deep`
    keeps the place from which a later round looks on, so that no job is hidden behind them for good.
    """

    def __init__(self, connection: Connection, deep: Mapping[str, Place], count: int) -> None:
        self.deep = dict(deep)
        self._connection = connection
        self._lines = {line.queue: line for line in waiting.lines(connection)}
        self._ends: dict[str, Place] = {}
        self._page = max(MIN_PAGE, min(MAX_PAGE, 2 * count // max(1, len(self._lines))))
        self._read(dict.fromkeys(self._lines, FRONT))

    def assignments(self, slots: Mapping[ExecutorId, int], fits: Fits, count: int) -> tuple[Sequence[Assignment], bool]:
        """Who gets what, at most `count`; and whether the bound was reached, so that another round should follow."""
        made: list[Assignment] = []
        passed = 0
        while True:
            step = assign(list(self._lines.values()), slots, fits, count - len(made))
            made += step.assignments
            slots, passed = step.slots, passed + step.passed
            self._lines = {line.queue: line for line in step.lines}
            if step.hungry is None:
                return made, len(made) == count and any(slots.values()) and self._left_over()
            if passed >= MAX_PASSED_PER_ROUND:
                self.deep[step.hungry] = self._ends[step.hungry]
                return made, True
            self._read({step.hungry: max(self._ends[step.hungry], self.deep.pop(step.hungry, FRONT))})

    def _left_over(self) -> bool:
        return any(line.heads or line.more for line in self._lines.values())

    def _read(self, after: Mapping[str, Place]) -> None:
        for queue, found in waiting.heads(self._connection, after, self._page).items():
            line: Line = self._lines[queue]
            self._lines[queue] = replace(line, heads=(*line.heads, *found), more=len(found) == self._page)
            if found:
                self._ends[queue] = place_of(found[-1])

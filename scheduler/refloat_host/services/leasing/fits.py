"""Remembers which executors could take which jobs, until their nodes change."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from refloat_common.core.ids import ExecutorId
from refloat_common.core.messages import NodeFacts
from refloat_host.adapters.store.queries.rows import requirements_of
from refloat_scheduler.core.fit.fleet import Fleet

MAX_ANSWERS = 20_000
"""Answers remembered per executor; beyond this they are worked out again."""

ReadNodes = Callable[[ExecutorId], Sequence[NodeFacts]]


class FitCache:
    """The static-fit probe by executor. An executor that has reported no nodes fits nothing yet."""

    def __init__(self) -> None:
        self._fleets: dict[ExecutorId, Fleet] = {}
        self._answers: dict[ExecutorId, dict[str, bool]] = {}

    def forget(self, executors: Iterable[ExecutorId]) -> None:
        """The nodes of these executors have changed."""
        for executor in executors:
            self._fleets.pop(executor, None)
            self._answers.pop(executor, None)

    def fits(self, asks: str, executor: ExecutorId, nodes: ReadNodes) -> bool:
        """Whether some node of the executor could ever take a pod with these requirements (their stored form)."""
        answers = self._answers.setdefault(executor, {})
        if asks not in answers:
            if len(answers) >= MAX_ANSWERS:
                answers.clear()
            answers[asks] = self._fleet(executor, nodes).fits(requirements_of(asks))
        return answers[asks]

    def fits_nowhere(self, asks: str, executors: Sequence[ExecutorId], nodes: ReadNodes) -> Fleet | None:
        """The nodes of all these executors, if some are known and none could ever take such a pod; else None."""
        if any(self.fits(asks, executor, nodes) for executor in executors):
            return None
        known = tuple(chain.from_iterable(self._fleet(executor, nodes).nodes for executor in executors))
        return Fleet(known) if known else None

    def _fleet(self, executor: ExecutorId, nodes: ReadNodes) -> Fleet:
        if executor not in self._fleets:
            self._fleets[executor] = Fleet.of(nodes(executor))
        return self._fleets[executor]

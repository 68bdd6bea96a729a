"""Leases queued jobs to executors with room: a loop that sleeps until there is news, and one transaction per round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import anyio

from refloat_common.adapters.logs import Log
from refloat_common.core.clock import Chance, Clock
from refloat_common.core.ids import ExecutorId, RunId
from refloat_common.core.messages import MAX_LEASES_PER_MESSAGE, Lease
from refloat_host.adapters.store.queries import waiting
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.queries.waiting import Place
from refloat_host.adapters.store.writer import Store
from refloat_host.core.grants import grant
from refloat_host.services.leasing.fits import FitCache
from refloat_host.services.leasing.heads import Heads
from refloat_host.services.news import News
from refloat_scheduler.core.effects import Effect
from refloat_scheduler.service.contract import ExecutorView, StoreUnavailable

MAX_LEASES_PER_ROUND = MAX_LEASES_PER_MESSAGE
RETRY_AFTER_S = 1.0
"""Pause after the store was unavailable."""


class Offers(Protocol):
    """What leasing needs of the plugin."""

    def executors(self) -> Sequence[ExecutorView]:
        """All known executors."""

    def offer(self, executor: ExecutorId, leases: Sequence[Lease]) -> None:
        """Send leases whose runs are committed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_unacknowledged`: leases on the way to one executor. `look_again_after_s`: the loop looks, news or not."""

    max_unacknowledged: int
    look_again_after_s: float


@dataclass(frozen=True, slots=True)
class Room:
    """Executors that may lease now, as a round begins."""

    slots: Mapping[ExecutorId, int]
    pools: Mapping[ExecutorId, str]

    @classmethod
    def of(cls, views: Sequence[ExecutorView], max_unacknowledged: int) -> "Room":
        """The room that these executors have: free slots, and not more leases on the way than the limit."""
        able = [view for view in views if view.may_lease]
        slots = {view.executor: min(view.free_slots, max_unacknowledged - view.unacknowledged) for view in able}
        return cls(
            {name: free for name, free in slots.items() if free > 0},
            {view.executor: view.pool for view in able},
        )


@dataclass(slots=True)
class Round:
    """What a round came to. `again`: it stopped at its bound, and the next one goes on at `deep`."""

    deep: Mapping[str, Place]
    leases: dict[ExecutorId, list[Lease]] = field(default_factory=dict)
    again: bool = False


class LeasingService:
    """Runs the leasing loop."""

    def __init__(
        self,
        store: Store,
        offers: Offers,
        clock: Clock,
        chance: Chance,
        news: News,
        fits: FitCache,
        limits: Limits,
        log: Log,
    ) -> None:
        self._store = store
        self._offers = offers
        self._clock = clock
        self._chance = chance
        self._news = news
        self._fits = fits
        self._limits = limits
        self._log = log
        self._deep: Mapping[str, Place] = {}

    async def run(self) -> None:
        """Lease whenever there is news, until cancelled. Looks by itself too, rarely, should news have been lost."""
        while True:
            with anyio.move_on_after(self._limits.look_again_after_s):
                await self._news.leasing.wait()
            try:
                while await self._store.read(lambda tx: waiting.any_waiting(tx.connection)) and await self.round():
                    pass
            except StoreUnavailable as error:
                self._log("warning", "leasing waits", {"why": error})
                await anyio.sleep(RETRY_AFTER_S * (0.5 + self._chance.fraction()))
                self._news.leasing.set()

    async def round(self) -> bool:
        """Lease what can be leased now, within a round's bounds; whether another round should follow at once.

        Raises:
            StoreUnavailable: nothing was leased.
        """
        room = Room.of(self._offers.executors(), self._limits.max_unacknowledged)
        if not room.slots:
            return False
        count = min(sum(room.slots.values()), MAX_LEASES_PER_ROUND)
        run_ids = [RunId(self._chance.uuid7()) for _ in range(count)]
        now_ms = self._clock.utc_ms()
        result = await self._store.transact(lambda tx: self._lease(tx, room, run_ids, now_ms))
        self._deep = result.deep
        for executor, leases in result.leases.items():
            self._offers.offer(executor, leases)
        return result.again

    def _lease(self, tx: SqlTransaction, room: Room, run_ids: Sequence[RunId], now_ms: int) -> Round:
        heads = Heads(tx.connection, self._deep, len(run_ids))
        assignments, again = heads.assignments(room.slots, partial(self._fits.fits, nodes=tx.nodes), len(run_ids))
        jobs = tx.jobs([assignment.job_id for assignment in assignments])
        effects: list[Effect] = []
        executors: dict[RunId, ExecutorId] = {}
        for run_id, assignment in zip(run_ids, assignments, strict=False):
            executor = assignment.executor
            effects += grant(jobs[assignment.job_id], run_id, executor, room.pools[executor], now_ms)
            executors[run_id] = executor
        tx.apply(effects)
        result = Round(again=again, deep=heads.deep)
        for lease in tx.leases(list(executors)):
            result.leases.setdefault(executors[RunId(lease.run)], []).append(lease)
        return result

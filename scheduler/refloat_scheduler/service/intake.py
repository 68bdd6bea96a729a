"""Commits reports: whatever waits, in one transaction, then the acknowledgements.

There is no timer: the first report opens a transaction at once, and what comes meanwhile is in the next one
(reliability, section 5.4).
"""

from typing import Final

import anyio

from refloat_common.core.ids import ExecutorId, JournalId
from refloat_common.core.link.scheduler.values import Committed, Deliver, NotCommitted
from refloat_scheduler.core.leases import machine
from refloat_scheduler.core.reconcile.batch import reconcile
from refloat_scheduler.core.reconcile.world import Batch, Outcome, World
from refloat_scheduler.core.signals import Metric, Sample
from refloat_scheduler.service.contract import StoreUnavailable, Transaction
from refloat_scheduler.service.office import Arrived, Office
from refloat_scheduler.service.reading import rules_for, world_of_batches

MAX_REPORTS_PER_TRANSACTION: Final = 500
STORE_RETRY_S: Final = 1.0

Applied = tuple[int, Outcome]
"""How far a batch's journal is applied now, and what came of the batch."""


class Intake:
    """The task that turns delivered reports into committed ones."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def run(self) -> None:
        """Commit for ever."""
        office = self._office
        while True:
            await office.intake_bell.wait()
            office.intake_bell = anyio.Event()
            while office.delivered:
                await self._commit(self._take())

    def _take(self) -> list[Arrived]:
        """What goes into the next transaction: the oldest deliveries, at least one."""
        waiting = self._office.delivered
        taken = [waiting.popleft()]
        count = len(taken[0].delivery.reports)
        while waiting and count + len(waiting[0].delivery.reports) <= MAX_REPORTS_PER_TRANSACTION:
            count += len(waiting[0].delivery.reports)
            taken.append(waiting.popleft())
        return taken

    async def _commit(self, arrived: list[Arrived]) -> None:
        office = self._office
        office.means.failpoint("host.received")
        began_s, taken = office.now_s(), [each.delivery for each in arrived]
        try:
            applied = await office.transact(lambda tx: self._apply(tx, taken))
        except StoreUnavailable as error:
            await self._put_off(taken, str(error))
            return
        office.means.failpoint("host.commit_before_ack")
        office.store_is_up()
        now_s = office.now_s()
        office.means.emit([Sample(Metric.INTAKE_LAG, value=now_s - each.at_s) for each in arrived])
        office.means.emit([Sample(Metric.INTAKE_SECONDS, value=now_s - began_s)])
        for delivery, (have, outcome) in zip(taken, applied, strict=True):
            office.happen(Committed(delivery.executor, delivery.epoch, have, outcome.skipped))
            executor = ExecutorId(delivery.executor)
            office.follow(machine.committed(office.registry, executor, have, office.now_s(), office.means.lease))
            office.committed(outcome)

    def _apply(self, tx: Transaction, taken: list[Deliver]) -> list[Applied]:
        """Runs inside the transaction, and may run again."""
        office = self._office
        batches = [Batch(ExecutorId(d.executor), JournalId(d.journal), d.first_seq, d.reports) for d in taken]
        world: World = world_of_batches(tx, batches)
        rules = rules_for(
            tx,
            world.jobs.values(),
            office.policies.policies,
            office.means.retry,
            office.fleet,
            office.now_ms(),
            [batch.executor for batch in batches],
        )
        applied: list[Applied] = []
        for batch in batches:
            world, outcome = reconcile(world, (batch,), rules)
            tx.apply(outcome.effects)
            applied.append((world.high_water.get((batch.executor, batch.journal), 0), outcome))
        return applied

    async def _put_off(self, taken: list[Deliver], why: str) -> None:
        """Nothing was applied: the executors keep the reports and send them again."""
        office = self._office
        office.store_is_down(why)
        for delivery in taken:
            office.happen(NotCommitted(delivery.executor, delivery.epoch))
        await anyio.sleep(STORE_RETRY_S)

"""Ticks once a second, and gives the runs of lost executors their verdicts, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.link.transport import SelfProbing
from refloat_scheduler.core.effects import ExecutorSaved
from refloat_scheduler.core.leases import machine
from refloat_scheduler.core.leases.expiry import MAX_RUNS_PER_PAGE, drop_claims, expire_page, release_holds
from refloat_scheduler.core.leases.preservation import FEWEST_TO_COMPARE, census
from refloat_scheduler.core.leases.registry import Lost
from refloat_scheduler.core.leases.ticking import tick
from refloat_scheduler.core.model import Job
from refloat_scheduler.core.reconcile.world import Outcome
from refloat_scheduler.core.signals import Level, Metric, Note, Sample
from refloat_scheduler.service.contract import StoreUnavailable, Transaction
from refloat_scheduler.service.missing import MissingRuns
from refloat_scheduler.service.offers import Offers
from refloat_scheduler.service.office import Office
from refloat_scheduler.service.reading import rules_for

PROBE_EVERY_S: Final = 15.0


@dataclass(slots=True)
class Lapses:
    """The clockwork, and the task that expires runs."""

    office: Office
    offers: Offers
    missing: MissingRuns

    async def keep_time(self) -> None:
        """Tick for ever."""
        office = self.office
        started_s = office.now_s()
        while True:
            await anyio.sleep(office.means.lease.tick_s)
            now_s = office.now_s()
            office.follow(tick(office.registry, now_s, office.means.lease))
            self.offers.remind()
            office.means.reset_meters(now_s)
            office.means.emit([Sample(Metric.POLICY_AGE, value=office.policies.age_s(now_s, started_s))])
            office.measure()
            try:
                await self._look_at_store()
                await self.missing.end_overdue()
            except StoreUnavailable as error:
                office.store_is_down(str(error))

    async def probe(self, doors: SelfProbing) -> None:
        """For ever: with too few executors to compare, try our own doors while one of them is silent."""
        office = self.office
        while True:
            await anyio.sleep(PROBE_EVERY_S)
            count = census(office.registry, office.now_s(), office.means.lease)
            doubtful = count.silent > 0 and count.executors < FEWEST_TO_COMPARE
            ok = not doubtful or await doors.reachable()
            if office.registry.probe_ok and not ok:
                office.say([Note(Level.ALERT, "the link's own addresses can't be reached from here")])
            office.registry = machine.probed(office.registry, ok=ok)

    async def _look_at_store(self) -> None:
        """While the store is down, try whether it is back."""
        if self.office.server.busy:
            await self.office.transact(lambda _tx: None)
            self.office.store_is_up()

    async def run(self) -> None:
        """Expire for ever: one lost executor after the other, other work between the pages."""
        office = self.office
        while True:
            await office.lost_bell.wait()
            office.lost_bell = anyio.Event()
            while office.lost:
                await self._expire(office.lost.popleft())

    async def _expire(self, lost: Lost) -> None:
        self.offers.forget(lost.executor)
        after = RunId("")
        while self._still_lost(lost):
            try:
                page, outcome = await self._expire_page(lost.executor, after)
            except StoreUnavailable as error:
                await self._wait(error)
                continue
            self.office.committed(outcome)
            if len(page) < MAX_RUNS_PER_PAGE:
                await self._finish(lost)
                return
            current = page[-1].current_run
            assert current is not None
            after = current.run_id

    def _still_lost(self, lost: Lost) -> bool:
        """Whether the verdicts go on: an executor that speaks again keeps what is left, unless it was given up."""
        member = self.office.registry.members.get(lost.executor)
        return lost.by_operator or (member is not None and member.lost)

    async def _wait(self, error: StoreUnavailable) -> None:
        self.office.store_is_down(str(error))
        await anyio.sleep(self.office.means.lease.tick_s)

    async def _expire_page(self, executor: ExecutorId, after: RunId) -> tuple[Sequence[Job], Outcome]:
        office = self.office

        def work(tx: Transaction) -> tuple[Sequence[Job], Outcome]:
            jobs = tx.active_jobs(executor, after, MAX_RUNS_PER_PAGE)
            policies, retry = office.policies.policies, office.means.retry
            outcome = expire_page(jobs, rules_for(tx, jobs, policies, retry, office.fleet, office.now_ms()))
            tx.apply(outcome.effects)
            return jobs, outcome

        return await office.transact(work)

    async def _finish(self, lost: Lost) -> None:
        """Let go what waits for the lost executor's word, and note that it was given up."""
        after = JobId("")
        while self._still_lost(lost):
            try:
                page, outcome = await self._let_go(lost.executor, after)
            except StoreUnavailable as error:
                await self._wait(error)
                continue
            self.office.committed(outcome)
            if len(page) < MAX_RUNS_PER_PAGE:
                return
            after = page[-1].job_id

    async def _let_go(self, executor: ExecutorId, after: JobId) -> tuple[Sequence[Job], Outcome]:
        now_ms = self.office.now_ms()

        def work(tx: Transaction) -> tuple[Sequence[Job], Outcome]:
            jobs = tx.held_jobs(executor, after, MAX_RUNS_PER_PAGE)
            outcome = release_holds(jobs).then(drop_claims(tx.claims(executor)))
            record = tx.executor_record(executor)
            saved = [ExecutorSaved(machine.lost_record(record, now_ms))] if record else []
            tx.apply([*outcome.effects, *saved])
            return jobs, outcome

        return await self.office.transact(work)

"""Finds runs that the store has on an executor and that the executor does not list, and settles them.

A lease that has not arrived is offered again. A run that was taken and is listed no more is waited for a while, since
its last report may be under way, and then ended (reliability, rule 13).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from refloat_common.core.ids import ExecutorId, RunId
from refloat_scheduler.core.leases.expiry import MAX_RUNS_PER_PAGE
from refloat_scheduler.core.leases.missing import end_missing, unlisted
from refloat_scheduler.service.offers import Offers
from refloat_scheduler.service.office import Office
from refloat_scheduler.service.reading import rules_for

if TYPE_CHECKING:
    from refloat_common.core.messages import Lease, RunEntry
    from refloat_scheduler.core.model import Job
    from refloat_scheduler.core.reconcile.world import Outcome
    from refloat_scheduler.service.contract import Transaction


@dataclass(slots=True)
class MissingRuns:
    """Since when each missing run is missed, per executor; forgotten once the run is listed or over."""

    office: Office
    offers: Offers
    grace_s: float
    _since_s: dict[ExecutorId, dict[RunId, float]] = field(default_factory=dict)

    async def compare(self, executor: ExecutorId, entries: Sequence["RunEntry"]) -> None:
        """Compare a complete list of an executor's runs with the store, page by page.

        Raises:
            StoreUnavailable: the rest is compared with the next list.
        """
        listed = frozenset(RunId(entry.run) for entry in entries)
        before = self._since_s.get(executor, {})
        missed: dict[RunId, float] = {}
        after = RunId("")
        while True:
            page = await self._page(executor, after)
            found = unlisted(page, listed)
            await self._offer_again(executor, found.offer_again)
            now_s = self.office.now_s()
            missed |= {run: before.get(run, now_s) for run in found.missing}
            if len(page) < MAX_RUNS_PER_PAGE:
                break
            current = page[-1].current_run
            assert current is not None
            after = current.run_id
        self._since_s[executor] = missed

    async def end_overdue(self) -> None:
        """End the runs that have been missing for the grace, of executors that have handed in their reports.

        Raises:
            StoreUnavailable: they are ended at the next tick.
        """
        now_s = self.office.now_s()
        for executor, missed in self._since_s.items():
            member = self.office.registry.members.get(executor)
            overdue = [run for run, since_s in missed.items() if now_s - since_s >= self.grace_s]
            if not overdue or member is None or not member.ready:
                continue
            await self._end(executor, overdue[:MAX_RUNS_PER_PAGE])
            for run in overdue[:MAX_RUNS_PER_PAGE]:
                missed.pop(run, None)

    async def _page(self, executor: ExecutorId, after: RunId) -> Sequence["Job"]:
        return await self.office.transact(lambda tx: tx.active_jobs(executor, after, MAX_RUNS_PER_PAGE))

    async def _offer_again(self, executor: ExecutorId, runs: Sequence[RunId]) -> None:
        wanted = [run for run in runs if not self.offers.is_open(executor, run)]
        if wanted:
            leases: Sequence[Lease] = await self.office.transact(lambda tx: tx.leases(wanted))
            self.offers.offer(executor, leases)

    async def _end(self, executor: ExecutorId, overdue: Sequence[RunId]) -> None:
        office = self.office

        def work(tx: "Transaction") -> "Outcome":
            jobs = list({job.job_id: job for job in tx.jobs_of_runs(overdue).values()}.values())
            policies, retry = office.policies.policies, office.means.retry
            rules = rules_for(tx, jobs, policies, retry, office.fleet, office.now_ms())
            outcome = end_missing(jobs, frozenset(overdue), rules)
            tx.apply(outcome.effects)
            return outcome

        office.committed(await office.transact(work))
        office.means.log("warning", f"executor {executor}: runs that it no longer lists have ended", {"runs": overdue})

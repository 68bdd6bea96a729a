"""Refuses for good, as they come, jobs that no node could ever take: nobody would hear of them otherwise."""

from collections.abc import Mapping, Sequence

from refloat_common.core.ids import JobId
from refloat_host.adapters.store.queries.rows import to_json
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.core.rejection import why_rejected, with_gangs
from refloat_host.services.leasing.fits import FitCache
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.model import Job


class Admission:
    """Looks at new jobs with the static-fit probe, over the nodes that all known executors have reported last."""

    def __init__(self, fits: FitCache) -> None:
        self._fits = fits

    def rejected(self, tx: SqlTransaction, new: Sequence[Job]) -> Mapping[JobId, str]:
        """Which of these jobs can never be scheduled, and why. While no node is known, every job may wait for one."""
        executors = [record.executor for record in tx.executor_records() if not record.decommissioned]
        fleets: dict[str, Fleet | None] = {}
        reasons: dict[JobId, str] = {}
        for job in new:
            asks = to_json(job.requirements)
            if asks not in fleets:
                fleets[asks] = self._fits.fits_nowhere(asks, executors, tx.nodes)
            fleet = fleets[asks]
            if fleet is not None:
                reasons[job.job_id] = why_rejected(job, fleet)
        return with_gangs(new, reasons)

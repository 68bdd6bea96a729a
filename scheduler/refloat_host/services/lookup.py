"""Looks jobs and runs up for those who ask again and again instead of watching: a page of the store at a time."""

from collections.abc import Mapping, Sequence
from functools import partial

from refloat_common.core.ids import JobId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_host.adapters.store.queries import inspection, jobs
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.writer import Store
from refloat_host.services.jobs import NO_JOB
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.core.model import Job

PAGE = 500
"""Jobs or runs that one read looks up."""


class LookupService:
    """Reads jobs, runs and pod specs; whatever is unknown is left out."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def jobs(self, job_ids: Sequence[JobId]) -> Mapping[JobId, Job]:
        """Jobs with their whole run history."""
        found: dict[JobId, Job] = {}
        for start in range(0, len(job_ids), PAGE):
            page = job_ids[start : start + PAGE]
            found |= await self._store.read(partial(SqlTransaction.jobs, job_ids=page))
        return found

    async def jobs_of_runs(self, run_ids: Sequence[RunId]) -> Mapping[RunId, Job]:
        """For each run, its job with the whole run history."""
        found: dict[RunId, Job] = {}
        for start in range(0, len(run_ids), PAGE):
            page = run_ids[start : start + PAGE]
            found |= await self._store.read(partial(SqlTransaction.jobs_of_runs, run_ids=page))
        return found

    async def pod_specs(self, job_ids: Sequence[JobId]) -> Mapping[JobId, JsonObject]:
        """The pod specs as they were submitted."""
        found: dict[JobId, JsonObject] = {}
        for start in range(0, len(job_ids), PAGE):
            page = job_ids[start : start + PAGE]
            found |= await self._store.read(partial(_pod_specs, page=page))
        return found

    async def rejections(self, job_ids: Sequence[JobId]) -> dict[JobId, str]:
        """Why these rejected jobs were rejected."""
        found: dict[JobId, str] = {}
        for start in range(0, len(job_ids), PAGE):
            page = job_ids[start : start + PAGE]
            told = await self._store.read(partial(_rejections, page=page))
            found |= {job_id: event.reason for job_id, event in told.items()}
        return found

    async def annotated(self, queue: str, job_set: str, key: str, value: str) -> Sequence[Job]:
        """The jobs of a job set that carry an annotation, in order of id."""
        found: list[Job] = []
        after: JobId = NO_JOB
        while True:
            page = await self._store.read(partial(_page, queue=queue, job_set=job_set, after=after))
            found += [job for job in page if job.annotations.get(key) == value]
            if len(page) < PAGE:
                return found
            after = page[-1].job_id

    async def active_queues(self) -> Mapping[str, Sequence[str]]:
        """Pool → the queues with jobs that run there or may yet: a queued job waits for every pool."""
        return await self._store.read(lambda tx: jobs.active_queues(tx.connection))


def _pod_specs(tx: SqlTransaction, page: Sequence[JobId]) -> dict[JobId, JsonObject]:
    return jobs.pod_specs(tx.connection, page)


def _rejections(tx: SqlTransaction, page: Sequence[JobId]) -> dict[JobId, JobFailed]:
    return inspection.rejections_of(tx.connection, page)


def _page(tx: SqlTransaction, queue: str, job_set: str, after: JobId) -> list[Job]:
    return jobs.list_jobs(tx.connection, queue, job_set, after, PAGE)

"""What an operator asks beyond Armada's API: jobs with their verdicts, the executors' health, orders about them."""

from refloat_common.core.admin import (
    MAX_JOBS,
    Done,
    ExecutorLine,
    ExecutorOrder,
    ExecutorsAnswer,
    ExecutorsQuery,
    JobQuery,
    JobsAnswer,
    JobsQuery,
    JobStory,
)
from refloat_common.core.ids import ExecutorId, JobId
from refloat_host.adapters.store.queries import inspection
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.writer import Store
from refloat_host.core.errors import InvalidFieldError, NotFoundError
from refloat_host.core.stories import executor_line, job_line, job_story
from refloat_host.services.jobs import JobService
from refloat_host.services.queues import QueueService
from refloat_scheduler.core.leases.states import OperatorAction
from refloat_scheduler.core.model import JobState
from refloat_scheduler.service.contract import Scheduler


class AdminService:
    """Carries out the methods of `refloat_common.core.admin`, each under its own name."""

    def __init__(self, store: Store, jobs: JobService, queues: QueueService, scheduler: Scheduler) -> None:
        self._store = store
        self._jobs = jobs
        self._queues = queues
        self._scheduler = scheduler

    async def get_jobs(self, query: JobsQuery) -> JobsAnswer:
        """A page of jobs.

        Raises:
            NotFoundError: there is no such queue.
            InvalidFieldError: the limit can't be used.
        """
        if not 1 <= query.limit <= MAX_JOBS:
            raise InvalidFieldError("limit", query.limit, f"must be between 1 and {MAX_JOBS}")
        await self._queues.get(query.queue)
        page = await self._jobs.list(query.queue, query.job_set, JobId(query.after), query.limit)
        rejected = [job.job_id for job in page if job.state is JobState.REJECTED]
        why = await self._store.read(lambda tx: inspection.rejections_of(tx.connection, rejected)) if rejected else {}
        return JobsAnswer(jobs=[job_line(job, why.get(job.job_id)) for job in page], more=len(page) == query.limit)

    async def describe_job(self, query: JobQuery) -> JobStory:
        """One job, whole.

        Raises:
            NotFoundError: there is none of that id.
        """
        job_id = JobId(query.job_id)

        def work(tx: SqlTransaction) -> JobStory:
            job = tx.jobs([job_id]).get(job_id)
            if job is None:
                raise NotFoundError("job", job_id)
            late = inspection.late_reports_of(tx.connection, [run.run_id for run in job.runs])
            rejected = job.state is JobState.REJECTED
            why = inspection.rejections_of(tx.connection, [job_id]).get(job_id) if rejected else None
            return job_story(job, inspection.verdicts_of(tx.connection, job_id), late, why)

        return await self._store.read(work)

    async def get_executors(self, _: ExecutorsQuery) -> ExecutorsAnswer:
        """All executors, as the scheduler sees them now."""
        counts = await self._store.read(SqlTransaction.active_counts)
        views = self._scheduler.executors()
        lines: list[ExecutorLine] = [executor_line(view, counts.get(view.executor, 0)) for view in views]
        return ExecutorsAnswer(executors=lines)

    async def operate_executor(self, order: ExecutorOrder) -> Done:
        """Carry out an order about an executor.

        Raises:
            InvalidFieldError: there is no such order.
            NotFoundError: there is no such executor.
        """
        known = [action.value for action in OperatorAction]
        if order.action not in known:
            raise InvalidFieldError("action", order.action, f"must be one of {', '.join(known)}")
        try:
            await self._scheduler.operate(ExecutorId(order.executor), OperatorAction(order.action))
        except KeyError:
            raise NotFoundError("executor", order.executor) from None
        return Done()

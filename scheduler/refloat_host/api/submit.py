"""Serves `api.Submit`: jobs are submitted, cancelled, preempted and reprioritized; queues as in `api.QueueService`."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import anyio
from armada_client.armada import health_pb2, submit_pb2
from google.protobuf.empty_pb2 import Empty

from refloat_common.core.ids import JobId
from refloat_host.api.calls import Call
from refloat_host.api.messages.jobs import priority_of, standings_of, submission_of
from refloat_host.api.queues import ANONYMOUS, QueueCalls
from refloat_host.core.errors import InvalidFieldError
from refloat_host.core.orders import Order
from refloat_host.core.selection import Selection
from refloat_host.core.submission import MAX_JOBS_PER_REQUEST
from refloat_host.services.jobs import JobService
from refloat_host.services.queues import QueueService
from refloat_scheduler.core.model import Job

MAX_REASON_CHARACTERS = 512
"""Armada cuts a longer reason."""

JOBS_BETWEEN_PAUSES = 50
"""So many jobs of a request are read before others have a turn."""

_Request = submit_pb2.JobCancelRequest | submit_pb2.JobPreemptRequest | submit_pb2.JobReprioritizeRequest


class SubmitCalls:
    """The calls on jobs."""

    def __init__(self, jobs: JobService, queues: QueueService) -> None:
        self._jobs = jobs
        self._queues = queues
        self._shared = QueueCalls(queues, jobs).shared_table()

    def table(self) -> Mapping[str, Call]:
        """Every method of the service."""
        return {
            **self._shared,
            "SubmitJobs": Call(self._submit, "submitting jobs"),
            "CancelJobs": Call(self._cancel, "cancelling jobs"),
            "CancelJobSet": Call(self._cancel_set, "cancelling job set {0.job_set_id}"),
            "ReprioritizeJobs": Call(self._reprioritize, "reprioritizing jobs"),
            "PreemptJobs": Call(self._preempt, "preempting jobs"),
            "Health": Call(healthy, "checking health"),
        }

    async def _submit(self, request: submit_pb2.JobSubmitRequest) -> submit_pb2.JobSubmitResponse:
        """Accept all of the jobs or none; a client id that is known already stands for the job it stood for."""
        items = request.job_request_items
        _required("queue", request.queue)
        if len(items) > MAX_JOBS_PER_REQUEST:
            raise InvalidFieldError("jobRequestItems", len(items), f"must be 1 to {MAX_JOBS_PER_REQUEST} jobs")
        submissions = []
        for i, item in enumerate(items):
            if i % JOBS_BETWEEN_PAUSES == 0:
                await anyio.lowlevel.checkpoint()
            submissions.append(submission_of(item, f"jobRequestItems[{i}]"))
        submitted = await self._jobs.submit(request.queue, request.job_set_id, submissions, owner=ANONYMOUS)
        answers = [submit_pb2.JobSubmitResponseItem(job_id=each.job_id) for each in submitted]
        return submit_pb2.JobSubmitResponse(job_response_items=answers)

    async def _cancel(self, request: submit_pb2.JobCancelRequest) -> submit_pb2.CancellationResult:
        """Cancel jobs, or with no ids the whole job set; the answer names those that were not over."""
        ids = [*request.job_ids, *([request.job_id] if request.job_id else [])]
        selection = await self._selection(request, ids)
        cancelled = await self._jobs.cancel(selection, _order(request.reason))
        return submit_pb2.CancellationResult(cancelled_ids=cancelled)

    async def _cancel_set(self, request: submit_pb2.JobSetCancelRequest) -> Empty:
        """Cancel a job set's jobs, of certain states only if the filter says so.

        Armada's filter knows no leased jobs: its pending ones include them.
        """
        await self._check_place(request.queue, request.job_set_id)
        standings = standings_of(request.filter.states, "filter.states")
        if "pending" in standings:
            standings |= {"leased"}
        selection = Selection(queue=request.queue, job_set=request.job_set_id, standings=standings)
        await self._jobs.cancel(selection, _order(request.reason))
        return Empty()

    async def _reprioritize(self, request: submit_pb2.JobReprioritizeRequest) -> submit_pb2.JobReprioritizeResponse:
        """Give jobs, or with no ids the whole job set, another priority; the answer says which could not get it."""
        priority = priority_of(request.new_priority, "newPriority")
        selection = await self._selection(request, request.job_ids)
        changed = await self._jobs.reprioritize(selection, priority, _order(""))
        if not request.job_ids:
            return submit_pb2.JobReprioritizeResponse(
                reprioritization_results={f"all jobs in job set {request.job_set_id}": ""}
            )
        results = await self._results(selection, changed, _not_reprioritized)
        return submit_pb2.JobReprioritizeResponse(reprioritization_results=results)

    async def _preempt(self, request: submit_pb2.JobPreemptRequest) -> submit_pb2.PreemptionResult:
        """Take leased jobs off their nodes for good; the answer says which were not leased."""
        if not request.job_ids:
            raise InvalidFieldError("jobIds", [], "must hold a job")
        selection = await self._selection(request, request.job_ids)
        preempted = await self._jobs.preempt(selection, _order(request.reason))
        results = await self._results(selection, preempted, _not_preempted)
        return submit_pb2.PreemptionResult(preemption_results=results)

    async def _selection(self, request: _Request, job_ids: Iterable[str]) -> Selection:
        await self._check_place(request.queue, request.job_set_id)
        ids = [JobId(job_id) for job_id in job_ids]
        return Selection(list(dict.fromkeys(ids)), request.queue, request.job_set_id)

    async def _check_place(self, queue: str, job_set: str) -> None:
        """Orders name a queue that exists, and a job set: whoever mistypes either must hear of it."""
        _required("queue", queue)
        _required("jobSetId", job_set)
        await self._queues.get(queue)

    async def _results(
        self, selection: Selection, done: Sequence[JobId], why_not: Callable[[Job], str]
    ) -> Mapping[str, str]:
        """For each job that was named: why nothing was done, or nothing."""
        carried_out = frozenset(done)
        rest = [job_id for job_id in selection.job_ids if job_id not in carried_out]
        found = await self._jobs.find(rest)
        results: dict[str, str] = dict.fromkeys(selection.job_ids, "")
        for job_id in rest:
            if job_id in found and selection.covers(found[job_id]):
                results[job_id] = why_not(found[job_id])
            else:
                results[job_id] = f'could not find job "{job_id}" in job set "{selection.job_set}"'
        return results


async def healthy(_: Empty) -> health_pb2.HealthCheckResponse:
    """Whoever can be asked is well: what the store can do, each call says itself."""
    return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)


def _not_reprioritized(job: Job) -> str:
    return f"the job is over: {job.state.value}" if job.state.ended else ""


def _not_preempted(job: Job) -> str:
    return f"the job is over: {job.state.value}" if job.state.ended else "the job is queued and holds no node"


def _order(reason: str) -> Order:
    return Order(ANONYMOUS, reason[:MAX_REASON_CHARACTERS])


def _required(field: str, value: str) -> None:
    if not value:
        raise InvalidFieldError(field, value, "must not be empty")

"""Serves `api.Jobs`: how jobs and runs stand, for clients that ask instead of watching."""

from collections.abc import Iterable, Mapping

from armada_client.armada import job_pb2, submit_pb2

from refloat_common.core.ids import JobId, RunId
from refloat_host.api.calls import Call
from refloat_host.api.messages.details import job_details, job_error, job_state, run_details
from refloat_host.api.messages.jobs import ANNOTATION_EXTERNAL_JOB_URI
from refloat_host.core.errors import InvalidFieldError
from refloat_host.services.lookup import LookupService
from refloat_scheduler.core.model import JobState

MAX_IDS = 10_000
"""Jobs or runs in one request."""


class JobCalls:
    """The calls that look jobs up. What is unknown is left out of an answer, or has the state UNKNOWN."""

    def __init__(self, lookup: LookupService) -> None:
        self._lookup = lookup

    def table(self) -> Mapping[str, Call]:
        """Every method of the service."""
        return {
            "GetJobStatus": Call(self._status, "getting the status of jobs"),
            "GetJobStatusUsingExternalJobUri": Call(self._status_by_uri, "getting the status of jobs"),
            "GetJobDetails": Call(self._details, "getting the details of jobs"),
            "GetJobErrors": Call(self._errors, "getting the errors of jobs"),
            "GetJobRunDetails": Call(self._runs, "getting the details of runs"),
            "GetActiveQueues": Call(self._active_queues, "getting active queues"),
        }

    async def _status(self, request: job_pb2.JobStatusRequest) -> job_pb2.JobStatusResponse:
        ids = [JobId(job_id) for job_id in _few("jobIds", request.job_ids)]
        found = await self._lookup.jobs(ids)
        states: dict[str, submit_pb2.JobState.ValueType] = dict.fromkeys(ids, submit_pb2.UNKNOWN)
        for job_id, job in found.items():
            states[job_id] = job_state(job)
        return job_pb2.JobStatusResponse(job_states=states)

    async def _status_by_uri(self, request: job_pb2.JobStatusUsingExternalJobUriRequest) -> job_pb2.JobStatusResponse:
        for field, value in (
            ("queue", request.queue),
            ("jobset", request.jobset),
            ("externalJobUri", request.external_job_uri),
        ):
            if not value:
                raise InvalidFieldError(field, value, "must not be empty")
        found = await self._lookup.annotated(
            request.queue, request.jobset, ANNOTATION_EXTERNAL_JOB_URI, request.external_job_uri
        )
        return job_pb2.JobStatusResponse(job_states={job.job_id: job_state(job) for job in found})

    async def _details(self, request: job_pb2.JobDetailsRequest) -> job_pb2.JobDetailsResponse:
        ids = [JobId(job_id) for job_id in _few("jobIds", request.job_ids)]
        found = await self._lookup.jobs(ids)
        specs = await self._lookup.pod_specs(list(found)) if request.expand_job_spec else {}
        details: dict[str, job_pb2.JobDetails] = {
            job_id: job_details(job, runs=request.expand_job_run, spec=specs.get(job_id))
            for job_id, job in found.items()
        }
        return job_pb2.JobDetailsResponse(job_details=details)

    async def _errors(self, request: job_pb2.JobErrorsRequest) -> job_pb2.JobErrorsResponse:
        found = await self._lookup.jobs([JobId(job_id) for job_id in _few("jobIds", request.job_ids)])
        rejected = [job_id for job_id, job in found.items() if job.state is JobState.REJECTED]
        errors = {job_id: job_error(job) for job_id, job in found.items()} | await self._lookup.rejections(rejected)
        return job_pb2.JobErrorsResponse(job_errors={job_id: error for job_id, error in errors.items() if error})

    async def _runs(self, request: job_pb2.JobRunDetailsRequest) -> job_pb2.JobRunDetailsResponse:
        ids = [RunId(run_id) for run_id in _few("runIds", request.run_ids)]
        found = await self._lookup.jobs_of_runs(ids)
        details: dict[str, job_pb2.JobRunDetails] = {
            run_id: run_details(run) for run_id, job in found.items() for run in job.runs if run.run_id == run_id
        }
        return job_pb2.JobRunDetailsResponse(job_run_details=details)

    async def _active_queues(self, _: job_pb2.GetActiveQueuesRequest) -> job_pb2.GetActiveQueuesResponse:
        by_pool = await self._lookup.active_queues()
        active = {pool: job_pb2.ActiveQueues(queues=queues) for pool, queues in by_pool.items()}
        return job_pb2.GetActiveQueuesResponse(active_queues_by_pool=active)


def _few(field: str, ids: Iterable[str]) -> list[str]:
    """The ids, each once.

    Raises:
        InvalidFieldError: there are too many.
    """
    given = list(dict.fromkeys(ids))
    if len(given) > MAX_IDS:
        raise InvalidFieldError(field, len(given), f"must be at most {MAX_IDS} of them")
    return given

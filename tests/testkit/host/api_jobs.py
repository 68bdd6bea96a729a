"""Jobs as a client of the management API asks for them."""

from typing import Any

from armada_client.armada import submit_pb2 as pb

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.core.grants import grant
from refloat_scheduler.core.model import JobState
from testkit.host.api import ServedApi
from testkit.podproto.rich import pod


def item(**fields: Any) -> pb.JobSubmitRequestItem:
    """A job of one container in the namespace `default`."""
    given: dict[str, Any] = {"pod_spec": pod(), "namespace": "default"} | fields
    return pb.JobSubmitRequestItem(**given)


def request(*items: pb.JobSubmitRequestItem, **fields: Any) -> pb.JobSubmitRequest:
    """A request for these jobs, or for one, in job set `s` of queue `q`."""
    given: dict[str, Any] = {"queue": "q", "job_set_id": "s", "job_request_items": items or [item()]} | fields
    return pb.JobSubmitRequest(**given)


async def submitted(api: ServedApi, *items: pb.JobSubmitRequestItem, **fields: Any) -> list[JobId]:
    """Submit; returns the ids."""
    answer = await api.submit.SubmitJobs(request(*items, **fields))
    return [JobId(each.job_id) for each in answer.job_response_items]


async def leased(api: ServedApi) -> JobId:
    """Submit a job and lease it to `east`."""
    [job_id] = await submitted(api)
    job = await api.services.jobs.get(job_id)

    def work(tx: SqlTransaction) -> None:
        tx.apply(grant(job, RunId(f"run-of-{job_id}"), ExecutorId("east"), "default", 5))

    await api.store.transact(work)
    return job_id


async def states(api: ServedApi, *job_ids: JobId) -> list[JobState]:
    """Where these jobs stand."""
    found = await api.services.jobs.find(job_ids)
    return [found[job_id].state for job_id in job_ids]

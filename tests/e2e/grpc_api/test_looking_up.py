"""`api.Jobs` over a real server: how jobs and runs stand."""

from dataclasses import replace
from typing import Any

import pytest
from armada_client.armada import job_pb2
from armada_client.armada import submit_pb2 as pb
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import StatusCode

from refloat_common.core.ids import ExecutorId, JobId
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_scheduler.core.effects import Effect, ExecutorRecord, ExecutorSaved, JobEnded, RunChanged
from refloat_scheduler.core.model import ErrorKind, JobState, RunError, RunState
from testkit.ctl.jobs import one_small_node
from testkit.host.api import ServedApi, refused
from testkit.host.api_jobs import item, leased, submitted
from testkit.podproto.rich import pod

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def queue(api: ServedApi) -> None:
    await api.queues.CreateQueue(pb.Queue(name="q", priority_factor=1))


async def store(api: ServedApi, *effects: Effect) -> None:
    def work(tx: SqlTransaction) -> None:
        tx.apply(effects)

    await api.store.transact(work)


async def change_run(api: ServedApi, job_id: JobId, **changes: Any) -> None:
    job = await api.services.jobs.get(job_id)
    await store(api, RunChanged(replace(job.runs[0], **changes)))


async def fail(api: ServedApi, job_id: JobId, **changes: Any) -> None:
    error = RunError(kind=changes.pop("kind", ErrorKind.POD_ERROR), message="out of memory")
    await change_run(api, job_id, state=RunState.FAILED, error=error, ended_at_ms=9, **changes)
    await store(api, JobEnded(job_id, JobState.FAILED, 9))


async def test_the_status_of_jobs(api: ServedApi) -> None:
    [queued] = await submitted(api)
    held, pending, running, failed, cancelled = [await leased(api) for _ in range(5)]
    await change_run(api, pending, state=RunState.PENDING)
    await change_run(api, running, state=RunState.RUNNING)
    await fail(api, failed)
    await api.submit.CancelJobs(pb.JobCancelRequest(queue="q", job_set_id="s", job_id=cancelled))
    request = job_pb2.JobStatusRequest(job_ids=[queued, held, pending, running, failed, cancelled, "none", "none"])
    answer = await api.jobs.GetJobStatus(request)
    assert dict(answer.job_states) == {
        queued: pb.QUEUED,
        held: pb.LEASED,
        pending: pb.PENDING,
        running: pb.RUNNING,
        failed: pb.FAILED,
        cancelled: pb.CANCELLED,
        "none": pb.UNKNOWN,
    }


async def test_jobs_are_found_by_their_external_uri(api: ServedApi) -> None:
    mine = await submitted(api, item(external_job_uri="airflow://1"), item(external_job_uri="airflow://1"))
    await submitted(api, item(external_job_uri="airflow://2"), item())
    await submitted(api, item(external_job_uri="airflow://1"), job_set_id="other")
    asked: dict[str, str] = {"queue": "q", "jobset": "s", "external_job_uri": "airflow://1"}
    answer = await api.jobs.GetJobStatusUsingExternalJobUri(job_pb2.JobStatusUsingExternalJobUriRequest(**asked))
    assert dict(answer.job_states) == dict.fromkeys(mine, pb.QUEUED)
    for field, shown in (("queue", "queue"), ("jobset", "jobset"), ("external_job_uri", "externalJobUri")):
        text = f"error getting the status of jobs: {shown}: '' must not be empty"
        with refused(StatusCode.INVALID_ARGUMENT, text):
            await api.jobs.GetJobStatusUsingExternalJobUri(
                job_pb2.JobStatusUsingExternalJobUriRequest(**(asked | {field: ""}))
            )


async def test_the_errors_of_jobs(api: ServedApi) -> None:
    failed, fine = await leased(api), await leased(api)
    await fail(api, failed)
    answer = await api.jobs.GetJobErrors(job_pb2.JobErrorsRequest(job_ids=[failed, fine, "none"]))
    assert dict(answer.job_errors) == {failed: "out of memory"}


async def test_the_errors_of_rejected_jobs(api: ServedApi) -> None:
    await one_small_node(api)
    [rejected] = await submitted(api, item(pod_spec=pod(nodeSelector={"zone": "west"})))
    answer = await api.jobs.GetJobErrors(job_pb2.JobErrorsRequest(job_ids=[rejected]))
    assert answer.job_errors[rejected].startswith("No node that executors have reported could ever take this job.\n")


async def test_the_details_of_a_job_with_its_runs_and_its_spec(api: ServedApi) -> None:
    job_id = await leased(api)
    await change_run(api, job_id, state=RunState.RUNNING, node="n1", running_at_ms=2500)
    job = await api.services.jobs.get(job_id)
    submitted_ts = Timestamp()
    submitted_ts.FromMilliseconds(job.submitted_at_ms)
    run = job_pb2.JobRunDetails(
        run_id=f"run-of-{job_id}",
        job_id=job_id,
        state=job_pb2.RUN_STATE_RUNNING,
        cluster="east",
        node="n1",
        leased_ts=Timestamp(nanos=5_000_000),
        started_ts=Timestamp(seconds=2, nanos=500_000_000),
    )
    plain = job_pb2.JobDetails(
        job_id=job_id,
        queue="q",
        jobset="s",
        namespace="default",
        state=pb.RUNNING,
        submitted_ts=submitted_ts,
        last_transition_ts=submitted_ts,
        latest_run_id=f"run-of-{job_id}",
    )
    spec = pb.Job(
        id=job_id,
        job_set_id="s",
        queue="q",
        namespace="default",
        owner="anonymous",
        pod_spec=pod(),
        created=submitted_ts,
    )
    whole = job_pb2.JobDetails(job_runs=[run], job_spec=spec)
    whole.MergeFrom(plain)
    answer = await api.jobs.GetJobDetails(job_pb2.JobDetailsRequest(job_ids=[job_id, "none"]))
    assert dict(answer.job_details) == {job_id: plain}
    request = job_pb2.JobDetailsRequest(job_ids=[job_id], expand_job_run=True, expand_job_spec=True)
    assert dict((await api.jobs.GetJobDetails(request)).job_details) == {job_id: whole}


async def test_a_cancelled_job_says_when(api: ServedApi) -> None:
    [job_id] = await submitted(api)
    await api.submit.CancelJobs(pb.JobCancelRequest(queue="q", job_set_id="s", job_id=job_id))
    answer = await api.jobs.GetJobDetails(job_pb2.JobDetailsRequest(job_ids=[job_id]))
    ended_at_ms = (await api.services.jobs.get(job_id)).ended_at_ms
    assert answer.job_details[job_id].cancel_ts.ToMilliseconds() == ended_at_ms > 0


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, job_pb2.RUN_STATE_FAILED),
        ({"returned": True}, job_pb2.RUNS_STATE_LEASE_RETURNED),
        ({"kind": ErrorKind.LEASE_EXPIRED}, job_pb2.RUN_STATE_LEASE_EXPIRED),
    ],
)
async def test_the_details_of_runs(api: ServedApi, changes: dict[str, Any], state: Any) -> None:
    job_id = await leased(api)
    await fail(api, job_id, **changes)
    run_id = f"run-of-{job_id}"
    answer = await api.jobs.GetJobRunDetails(job_pb2.JobRunDetailsRequest(run_ids=[run_id, "none"]))
    assert dict(answer.job_run_details) == {
        run_id: job_pb2.JobRunDetails(
            run_id=run_id,
            job_id=job_id,
            state=state,
            cluster="east",
            leased_ts=Timestamp(nanos=5_000_000),
            finished_ts=Timestamp(nanos=9_000_000),
        )
    }


@pytest.mark.parametrize(
    ("call", "kind", "field", "shown"),
    [
        ("GetJobStatus", job_pb2.JobStatusRequest, "job_ids", "the status of jobs: jobIds"),
        ("GetJobDetails", job_pb2.JobDetailsRequest, "job_ids", "the details of jobs: jobIds"),
        ("GetJobErrors", job_pb2.JobErrorsRequest, "job_ids", "the errors of jobs: jobIds"),
        ("GetJobRunDetails", job_pb2.JobRunDetailsRequest, "run_ids", "the details of runs: runIds"),
    ],
)
async def test_too_many_ids_are_refused(api: ServedApi, call: str, kind: Any, field: str, shown: str) -> None:
    ids = [str(number) for number in range(10_001)]
    with refused(StatusCode.INVALID_ARGUMENT, f"error getting {shown}: 10001 must be at most 10000 of them"):
        await getattr(api.jobs, call)(kind(**{field: ids}))


async def test_queues_are_active_where_their_jobs_run_or_may_run(api: ServedApi) -> None:
    assert await api.jobs.GetActiveQueues(job_pb2.GetActiveQueuesRequest()) == job_pb2.GetActiveQueuesResponse()
    for name in ("waits", "idle"):
        await api.queues.CreateQueue(pb.Queue(name=name, priority_factor=1))
    await leased(api)
    await submitted(api, queue="waits")
    await store(api, ExecutorSaved(ExecutorRecord(executor=ExecutorId("west"), last_epoch=1, pool="gpu")))
    answer = await api.jobs.GetActiveQueues(job_pb2.GetActiveQueuesRequest())
    assert {pool: list(active.queues) for pool, active in answer.active_queues_by_pool.items()} == {
        "default": ["q"],
        "gpu": ["waits"],
    }

"""The host that other tests build on."""

from pathlib import Path

import pytest

from refloat_common.core.ids import ExecutorId, JobId
from refloat_host.core.errors import FailedPreconditionError, NotFoundError
from refloat_host.core.orders import Order
from refloat_host.core.queues import Queue
from refloat_host.core.selection import Selection
from refloat_host.core.submission import Submission
from refloat_host.testing import HostUnderTest, sqlite
from refloat_scheduler.core.model import JobState
from testkit.host.values import pod_spec

pytestmark = pytest.mark.anyio
EAST = ExecutorId("east")


async def submitted(host: HostUnderTest) -> JobId:
    await host.queues.create(Queue(name="q"))
    [job] = await host.jobs.submit("q", "s", [Submission(pod_spec=pod_spec())])
    return job.job_id


async def test_a_host_in_memory_leases_and_kills() -> None:
    with sqlite() as host:
        job_id = await submitted(host)
        lease = await host.lease(job_id, EAST)
        assert (lease.job, lease.token) == (job_id, 1)
        with pytest.raises(FailedPreconditionError, match="is not leasable: it is leased"):
            await host.lease(job_id, EAST)
        with pytest.raises(NotFoundError):
            await host.lease(JobId("none"), EAST)
        await host.jobs.cancel(Selection([job_id]), Order("", "done"))
        assert host.killed == [(EAST, (lease.run,), "done")]


async def test_a_host_in_a_folder_is_found_again(tmp_path: Path) -> None:
    with sqlite(tmp_path) as host:
        job_id = await submitted(host)
        generation = host.database.generation
    with sqlite(tmp_path) as host:
        assert (await host.jobs.get(job_id)).state is JobState.QUEUED
        assert (host.database.generation, host.database.epoch) == (generation, 2)

"""Jobs for tests of refloatctl: a job file, and what a scheduler would store of them."""

from dataclasses import replace

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import NodeFacts
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.core.grants import grant
from refloat_scheduler.core.effects import (
    Effect,
    EventsAppended,
    ExecutorRecord,
    ExecutorSaved,
    JobRequeued,
    LateReported,
    NodesSaved,
    RunChanged,
    VerdictStored,
)
from refloat_scheduler.core.events import JobFailed
from refloat_scheduler.core.explanation import Explanation, Gate, MutationChange, RuleLook
from refloat_scheduler.core.model import ErrorKind, Job, RunError, RunState
from testkit.ctl.running import Ctl
from testkit.host.api import ServedApi

JOBS = """
    queue: q
    jobSetId: s
    jobs:
      - priority: 5
        namespace: default
        labels: {app: x}
        annotations: {note: "yes"}
        podSpecs:
          - containers:
              - name: main
                image: busybox
                resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 100m, memory: 64Mi}}
      - podSpec:
          containers:
            - {name: main, image: busybox, resources: {requests: {cpu: 1}, limits: {cpu: 1}}}
"""


async def submitted(ctl: Ctl) -> list[JobId]:
    """Submit the two jobs of the file; their ids."""
    ran = await ctl("submit", ctl.file(JOBS, "jobs.yaml"))
    assert ran.code == 0, ran
    return [JobId(line.split()[4]) for line in ran.out.splitlines()]


async def failed_once(api: ServedApi, job_id: JobId, run_id: RunId, executor: ExecutorId) -> JsonObject:
    """Lease a job, let its run fail and be retried; the explanation of the verdict in its stored form."""
    job = await api.services.jobs.get(job_id)
    explanation = _explanation(job, run_id)
    error = RunError(
        kind=ErrorKind.POD_ERROR, category="oom", subcategory="kernel", message="Container main failed\nwith code 137"
    )

    def work(tx: SqlTransaction) -> None:
        tx.apply(grant(job, run_id, executor, "default", 0))
        [leased] = tx.jobs([job_id]).values()
        run = replace(leased.runs[0], state=RunState.FAILED, node="node-1", error=error)
        tx.apply(
            [
                RunChanged(run),
                JobRequeued(
                    job_id=job_id,
                    queued_version=leased.queued_version + 1,
                    record=leased.record,
                    requirements=leased.requirements,
                ),
                EventsAppended((_failed(job, run_id, executor, retryable=True),)),
                VerdictStored(explanation),
                LateReported(
                    run_id=run_id,
                    job_id=job_id,
                    executor=executor,
                    kind="failed",
                    why="the run is fenced",
                    reported_at_ms=1,
                ),
            ]
        )

    await api.store.transact(work)
    return explanation.to_json()


def _failed(job: Job, run_id: RunId, executor: ExecutorId, *, retryable: bool) -> JobFailed:
    return JobFailed(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=1_796_047_709_538,
        run_id=run_id,
        cluster_id=executor,
        reason="Container main failed",
        failure_category="oom",
        retryable=retryable,
    )


def _explanation(job: Job, run_id: RunId) -> Explanation:
    return Explanation(
        run_id=run_id,
        job_id=job.job_id,
        retry=True,
        gate=Gate.PASSED,
        decision="retry",
        reason="rule 1 matched",
        policy="careful",
        policy_hash="0123456789abcdef",
        category="oom",
        subcategory="kernel",
        rule_index=1,
        rules=(RuleLook(0, "Fail", "user-error", "", "another category"), RuleLook(1, "Retry", "oom", "")),
        failures=1,
        retries_after=1,
        retry_limit=3,
        global_max_retries=5,
        mutations=(MutationChange(kind="memory", before="64Mi", after="96Mi"),),
    )


async def one_small_node(api: ServedApi) -> None:
    """An executor with a single node reports, so that jobs that ask for more are rejected."""
    executor = ExecutorId("cluster-1")
    node = NodeFacts(name="node-1", allocatable={"cpu": "500m", "memory": "1Gi"})
    effects: list[Effect] = [
        ExecutorSaved(ExecutorRecord(executor=executor)),
        NodesSaved(executor=executor, upserted=(node,)),
    ]
    await api.store.transact(lambda tx: tx.apply(effects))

"""Makes jobs, runs, policies and reports with as little said as a test needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.jsontypes import JsonValue
from refloat_common.core.messages import NodeFacts, Report, ReportKind
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.model import ErrorKind, Job, JobState, Requirements, Run, RunError, RunState
from refloat_scheduler.core.policies.compiled import CompiledPolicy, compile_policy
from refloat_scheduler.core.policies.document import decode
from refloat_scheduler.core.reconcile.world import Rules
from refloat_scheduler.core.retry.gates import RetrySettings

LABEL = "kubernetes.io/hostname"
EXECUTOR = ExecutorId("exec-1")
JOB = JobId("job-a")
NOW_MS = 1_800_000_000_000


def run_of(ordinal: int, state: RunState = RunState.RUNNING, **changes: object) -> Run:
    """A run `run-N` on node `node-N`, acknowledged and attempted; a failed one has an error of category `oom`."""
    base = Run(
        run_id=RunId(f"run-{ordinal}"),
        job_id=JOB,
        ordinal=ordinal,
        executor=EXECUTOR,
        state=state,
        node=f"node-{ordinal}",
        node_label=f"node-{ordinal}",
        acknowledged=True,
        attempted=True,
        error=error_of() if state is RunState.FAILED else None,
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # the test says what it wants


def error_of(category: str = "oom", subcategory: str = "", **changes: object) -> RunError:
    """A pod's error."""
    base = RunError(
        kind=ErrorKind.POD_ERROR,
        category=category,
        subcategory=subcategory,
        message="container main was killed",
        cause="OOM",
        cluster=EXECUTOR,
        node="node-1",
        pod="armada-job-a-0",
        namespace="default",
        uid="uid-1",
        disposition="Delete",
        pod_gone=True,
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # the test says what it wants


def returned_error(message: str = "node drained") -> RunError:
    """The error of a lease that was returned."""
    return RunError(kind=ErrorKind.POD_LEASE_RETURNED, message=message, cluster=EXECUTOR)


def job_of(*runs: Run, state: JobState = JobState.LEASED, memory: str = "1Gi", **changes: object) -> Job:
    """A job with this history, asking for so much memory."""
    base = Job(
        job_id=JOB,
        queue="queue-a",
        job_set="set-a",
        state=state,
        queued_version=2 * len(runs),
        requirements=Requirements(requests={"memory": memory}, limits={"memory": memory}),
        runs=runs,
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # the test says what it wants


def policy_of(
    *rules: Mapping[str, JsonValue], limit: int = 3, default: str = "Fail", name: str = "p"
) -> CompiledPolicy:
    """A policy with these rules."""
    body: dict[str, JsonValue] = {"name": name, "retryLimit": limit, "defaultAction": default, "rules": list(rules)}
    return compile_policy(decode(body))


def rule(action: str, category: str, subcategory: str = "", **mutate: JsonValue) -> Mapping[str, JsonValue]:
    """One rule; `mutate` takes `avoid`, `factor` and `static`."""
    body: dict[str, JsonValue] = {"action": action, "onCategory": category, "onSubcategory": subcategory}
    changes: dict[str, JsonValue] = {}
    if mutate.get("avoid"):
        changes["affinity"] = {"avoidSameNode": True}
    memory: dict[str, JsonValue] = {key: mutate[key] for key in ("factor", "static") if key in mutate}
    if memory:
        changes["resources"] = {"memory": memory}
    return body | {"mutate": changes} if changes else body


def nodes_of(*names: str, memory: str = "64Gi", label: str = LABEL) -> tuple[NodeFacts, ...]:
    """Nodes with their name as the node label."""
    return tuple(NodeFacts(name=name, labels={label: name}, allocatable={"memory": memory}) for name in names)


FLEET = Fleet.of(nodes_of("node-1", "node-2", "node-3", "node-4", "node-5", "node-6", "node-7"))


def rules_of(
    *policies: CompiledPolicy,
    queue_policies: Sequence[str] | None = ("p",),
    fleet: Fleet = FLEET,
    incapable: Sequence[ExecutorId] = (),
    **settings: object,
) -> Rules:
    """Rules with the engine on and these policies; the queue `queue-a` has the policy `p`."""
    base = RetrySettings(enabled=True, global_max_retries=10)
    return Rules(
        policies={policy.name: policy for policy in policies},
        settings=replace(base, **settings),  # type: ignore[arg-type]  # the test says what it wants
        probe=fleet.fits,
        queue_policies={"queue-a": None if queue_policies is None else tuple(queue_policies)},
        incapable=frozenset(incapable),
        now_ms=NOW_MS,
    )


def report_of(kind: ReportKind, run: str = "run-1", **changes: object) -> Report:
    """A report about a run of the job; a failure is of category `oom` and its pod is gone."""
    fields: dict[str, object] = {"kind": kind, "run": run, "job": JOB, "uid": f"uid-{run}", "node": "node-1"}
    fields |= {"node_label": "node-1", "pod_name": "armada-job-a-0", "namespace": "default"}
    if kind is ReportKind.FAILED:
        fields |= {"category": "oom", "cause": "OOM", "message": "container main was killed"}
        fields |= {"disposition": "Delete", "pod_gone": True}
    return Report(**{**fields, **changes})  # type: ignore[arg-type]  # the test says what it wants

"""The scheduler's cycle over one job, between the vectors' JSON and Refloat's values: shared by both failure paths."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from refloat_common.core import quantity
from refloat_common.core.ids import ExecutorId, JobId, RunId
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_common.core.messages import NodeFacts
from refloat_scheduler.core.events import Event, JobFailed, JobLeaseExpired, JobPreempted
from refloat_scheduler.core.fit.fleet import Fleet
from refloat_scheduler.core.fit.requirements import node_terms
from refloat_scheduler.core.model import (
    ErrorKind,
    Job,
    JobState,
    MatchExpression,
    MutationRecord,
    NodeTerm,
    Requirements,
    Run,
    RunError,
    RunState,
)
from refloat_scheduler.core.policies.cache import refreshed
from refloat_scheduler.core.policies.compiled import CompiledPolicy
from refloat_scheduler.core.policies.document import decode, encode
from refloat_scheduler.core.reconcile.world import Rules
from refloat_scheduler.core.retry.gates import RetrySettings
from refloat_scheduler.core.signals import Metric, Sample
from testkit.vectors.kinds.retry.errors import internal_cause, number, obj, rows, run_error, text, texts, whole
from testkit.vectors.kinds.retry.grow import record
from testkit.vectors.kinds.retry.policy_json import with_factors

WORDLESS = frozenset(
    {ErrorKind.LEASE_EXPIRED, ErrorKind.KUBERNETES_ERROR, ErrorKind.CONTAINER_ERROR, ErrorKind.EXECUTOR_ERROR},
)
"""Kinds of errors for which Armada's log has no text."""


class ProbeFailedError(Exception):
    """The vector says that the probe can't answer."""


@dataclass(slots=True)
class Probed:
    """The probe of one cycle, and what it was asked. The node label a fleet's node lacks is its name."""

    question: JsonObject
    asked: list[JsonObject] = field(default_factory=list)

    def __call__(self, requirements: Requirements) -> bool:
        """Whether some node fits; no answer counts as no."""
        if self.question.get("probeError"):
            self.asked.append({"error": self.question["probeError"], "asked": requirements_json(requirements)})
            raise ProbeFailedError(text(self.question["probeError"]))
        label = text(obj(self.question["scheduler"])["nodeIdLabel"])
        nodes = [_node(row, label) for row in rows(self.question["fleet"])]
        missing = bool(self.question.get("probeMissing"))
        answer = None if missing else Fleet.of(nodes).fits(requirements)
        self.asked.append({"answer": answer, "asked": requirements_json(requirements)})
        return bool(answer)


def _node(row: JsonObject, label: str) -> NodeFacts:
    name = text(row["name"])
    labels = obj(row["labels"]) if "labels" in row else {label: name}
    return NodeFacts(
        name=name,
        labels={key: text(value) for key, value in labels.items()},
        allocatable={"memory": text(row["memory"])},
    )


def job_of(question: JsonObject) -> Job:
    """The job of a vector, its runs in the order of their creation."""
    fields = obj(question["job"])
    errors = obj(question["runErrors"])
    ordered = sorted(rows(fields["runs"]), key=lambda row: whole(row["created"]))
    job_id = JobId(text(fields["id"]))
    spec = {"affinity": fields["affinity"]} if fields.get("affinity") else {}
    return Job(
        job_id=job_id,
        queue=text(fields["queue"]),
        job_set=text(fields["jobSet"]),
        state=JobState.QUEUED if fields.get("queued") else JobState.LEASED,
        annotations={key: text(value) for key, value in obj(fields["annotations"]).items()},
        queued_version=whole(fields["queuedVersion"]),
        requirements=Requirements(
            requests=_memory(fields.get("memoryRequest")),
            limits=_memory(fields.get("memoryLimit")),
            node_terms=node_terms(spec),
        ),
        record=replace(record(fields.get("resourceMutations")), version=whole(fields["schedulingInfoVersion"])),
        runs=tuple(_run(row, job_id, i + 1, errors.get(text(row["id"]))) for i, row in enumerate(ordered)),
    )


def _memory(value: JsonValue) -> dict[str, str]:
    return {"memory": text(value)} if value else {}


def _run(row: JsonObject, job_id: JobId, ordinal: int, error: JsonValue) -> Run:
    return Run(
        run_id=RunId(text(row["id"])),
        job_id=job_id,
        ordinal=ordinal,
        executor=ExecutorId(text(row["executor"])),
        pool=text(row["pool"]),
        state=_state(row),
        node=text(row["node"]),
        node_label=text(row["node"]),
        attempted=bool(row["runAttempted"]),
        preempted=bool(row.get("preempted")),
        returned=bool(row.get("returned")),
        error=run_error(obj(error)) if error else None,
    )


def _state(row: JsonObject) -> RunState:
    """Of several ends that a run has, Armada takes the first of these."""
    for key, state in (
        ("succeeded", RunState.SUCCEEDED),
        ("failed", RunState.FAILED),
        ("cancelled", RunState.CANCELLED),
        ("preempted", RunState.PREEMPTED),
        ("running", RunState.RUNNING),
        ("pending", RunState.PENDING),
    ):
        if row.get(key):
            return state
    return RunState.LEASED


def rules_of(question: JsonObject, probe: Callable[[Requirements], bool]) -> Rules:
    """The settings, policies and queues of a vector."""
    scheduler = obj(question["scheduler"])
    queues = {text(queue["name"]): texts(queue["retryPolicies"]) for queue in rows(question["queues"])}
    return Rules(
        policies=policies_of(question),
        settings=RetrySettings(
            enabled=bool(scheduler["enabled"]),
            global_max_retries=whole(scheduler["globalMaxRetries"]),
            default_policy=text(scheduler["defaultPolicyName"]),
            attempt_limit=whole(scheduler["maxAttemptedRuns"]),
            node_id_label=text(scheduler["nodeIdLabel"]),
        ),
        probe=probe,
        queue_policies=queues,
    )


def policies_of(question: JsonObject) -> Mapping[str, CompiledPolicy]:
    """The policies that the cache serves after one refresh; `factors` sets numbers that JSON can't carry."""
    factors = obj(question.get("factors"))
    documents: list[JsonValue] = []
    for policy in rows(question["policies"]):
        changed = with_factors(decode(policy), obj(factors.get(text(policy["name"]))))
        documents.append(encode(changed) if changed else None)
    return refreshed(documents, 0.0).cache.policies


def restated(value: JsonValue) -> JsonValue:
    """Armada's answer with its empty record of growth as none, and an error of no kind as one of the executor's."""
    if isinstance(value, Mapping):
        rest = {key: restated(item) for key, item in value.items()}
        if rest.get("resourceMutations") == {"memoryFactor": 0, "memoryStatic": ""}:
            rest["resourceMutations"] = None
        return rest | {"reason": "executorError"} if "terminal" in rest and not rest["reason"] else rest
    return [restated(item) for item in value] if isinstance(value, list) else value


def samples_json(samples: tuple[Sample, ...]) -> tuple[JsonValue, int]:
    """The decision counter's samples, and how often the gang counter rose."""
    decisions = [dict(sample.labels) for sample in samples if sample.metric is Metric.DECISIONS]
    return decisions, sum(sample.metric is Metric.GANG_SKIPPED for sample in samples)


def requirements_json(requirements: Requirements) -> JsonObject:
    """What of Armada's scheduling info the requirements hold."""
    terms = requirements.node_terms
    shown: dict[str, JsonValue] = {"requiredNodeTerms": None if terms is None else [_term(term) for term in terms]}
    for key, amounts in (("memoryRequest", requirements.requests), ("memoryLimit", requirements.limits)):
        value = quantity.parse(amounts["memory"]) if "memory" in amounts else None
        shown |= {key: None, f"{key}Bytes": None} if value is None else {key: str(value), f"{key}Bytes": value.units}
    return shown


def _term(term: NodeTerm) -> JsonValue:
    return [_expression(expression) for expression in term.expressions]


def _expression(expression: MatchExpression) -> JsonValue:
    return {"key": expression.key, "operator": expression.operator, "values": sorted(expression.values)}


def scheduling_info(requirements: Requirements, mutations: MutationRecord) -> JsonObject:
    """Armada's scheduling info of a job."""
    grown = {"memoryFactor": number(mutations.memory_factor), "memoryStatic": mutations.memory_static}
    return {
        **requirements_json(requirements),
        "resourceMutations": grown if mutations.memory_factor or mutations.memory_static else None,
        "version": mutations.version,
    }


def job_json(job: Job) -> JsonObject:
    """A job after the cycle."""
    shown: dict[str, JsonValue] = {
        "cancelled": job.state is JobState.CANCELLED,
        "failed": job.state in (JobState.FAILED, JobState.PREEMPTED),
        "queued": job.state is JobState.QUEUED,
        "queuedVersion": job.queued_version,
        "schedulingInfo": scheduling_info(job.requirements, job.record),
        "succeeded": job.state is JobState.SUCCEEDED,
    }
    if job.latest_run:
        shown["latestRunFailed"] = job.latest_run.state in (RunState.FAILED, RunState.PREEMPTED)
    return shown


def error_json(error: RunError, *, terminal: bool, policy: str) -> JsonObject:
    """A run error as Armada's log holds it."""
    shown: dict[str, JsonValue] = {
        "category": error.category,
        "reason": error.kind.value,
        "retryPolicyName": policy,
        "subcategory": error.subcategory,
        "terminal": terminal,
    }
    if error.kind not in WORDLESS:
        shown["message"] = error.message
    if error.kind.value == "podError":
        shown["cause"] = internal_cause(error.cause)
        shown["containerErrors"] = [
            {**container, "cause": internal_cause(text(container["cause"]))} for container in _containers(error)
        ]
    return shown


def _containers(error: RunError | JobFailed) -> list[JsonObject]:
    containers = error.containers if isinstance(error, RunError) else error.container_statuses
    return [
        {"name": c.name, "exitCode": c.exit_code, "reason": c.reason, "message": c.message, "cause": c.cause}
        for c in containers
    ]


def public_json(event: Event) -> JsonObject:
    """A public event as the vectors write it."""
    match event:
        case JobFailed():
            return {
                "type": "failed",
                "category": event.failure_category,
                "cause": event.cause,
                "clusterId": event.cluster_id,
                "containerStatuses": _containers(event),
                "nodeName": event.node_name,
                "podName": event.pod_name,
                "reason": event.reason,
                "retryable": event.retryable,
                "subcategory": event.failure_subcategory,
            }
        case JobPreempted():
            return {"type": "preempted", "reason": event.reason}
        case JobLeaseExpired():
            return {"type": "lease_expired"}
        case _:
            return {"type": event.NAME}

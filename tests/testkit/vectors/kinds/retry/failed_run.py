"""Kind `failedRun`: the scheduler's cycle over a job whose latest run has failed, was returned or preempted."""

from collections.abc import Iterable

from refloat_common.core import quantity
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_host.core.orders import Order, preempt
from refloat_scheduler.core.effects import EventsAppended, RunChanged
from refloat_scheduler.core.events import JobLeaseReturned, JobPreempting
from refloat_scheduler.core.explanation import Gate
from refloat_scheduler.core.model import Job, JobState, Run, RunState
from refloat_scheduler.core.mutations.memory import UnreadableRecordError
from refloat_scheduler.core.reconcile import telling
from refloat_scheduler.core.reconcile.consequences import with_run
from refloat_scheduler.core.reconcile.world import Rules
from refloat_scheduler.core.retry.counts import attempt_count, failure_count, returned_attempt_count
from refloat_scheduler.core.retry.engine import decide
from refloat_scheduler.core.retry.gates import GangAnnotationError, gang_cardinality, pass_gates
from refloat_scheduler.core.retry.settle import RunErrorMissingError, Settlement, settle_failure
from testkit.vectors.kinds.retry import cycle
from testkit.vectors.kinds.retry.errors import obj, public_cause, rows, text, verdict_json, whole
from testkit.vectors.model import Kind, Vector

NO_ERROR_YET: JsonObject = {"cacheRefresh": None, "cycleError": None}


def answer(question: JsonObject) -> JsonObject:
    """The verdict before the mutation gates, what was probed, the events and the job afterwards."""
    job = cycle.job_of(question)
    try:
        gang_cardinality(job.annotations)
    except GangAnnotationError as error:
        return {"jobError": str(error).partition(" - ")[0]}
    probe = cycle.Probed(question)
    rules = cycle.rules_of(question, probe)
    run = job.latest_run
    answered: dict[str, JsonValue] = {
        **NO_ERROR_YET,
        "failureCount": failure_count(job),
        "numAttempts": attempt_count(job),
    }
    if run is not None:
        answered["latestRun"] = run.run_id
    if run is not None and run.state is RunState.FAILED:
        answered["engine"] = _engine(job, run, rules)
    try:
        after = _cycle(question, job, rules)
    except (RunErrorMissingError, UnreadableRecordError, cycle.ProbeFailedError) as error:
        after = {"cycleError": _cycle_error(job, error)}
    return {**answered, **after, "probes": probe.asked}


def _cycle_error(job: Job, error: Exception) -> str:
    if isinstance(error, RunErrorMissingError):
        return str(error)
    return f"unable to apply memory bump for job {job.job_id} because {error}"


def _engine(job: Job, run: Run, rules: Rules) -> JsonObject:
    """The verdict before the mutation gates; asked of every run that has come to an end."""
    passage = pass_gates(
        job,
        run,
        rules.queue_policies.get(job.queue),
        rules.policies,
        rules.settings,
        capable=True,
    )
    if passage.gate is not Gate.PASSED or passage.policy is None:
        return {"decided": False, "policy": ""}
    verdict = decide(passage.policy, run.error, failure_count(job), rules.settings.global_max_retries)
    return {"decided": True, "policy": passage.policy_name, **verdict_json(verdict)}


def _cycle(question: JsonObject, job: Job, rules: Rules) -> JsonObject:
    """What the cycle does: nothing to a job that is queued or whose latest run has not failed."""
    run = job.latest_run
    if run is not None and job.state is JobState.LEASED:
        if run.state is RunState.FAILED:
            return _settled(job, run, rules)
        if rows(obj(question["job"])["runs"])[-1].get("preemptRequested") and obj(question["job"]).get("preemptible"):
            return _preempted(job)
    return {"decisions": [], "gangSkipped": 0, "events": [], "publicEvents": [], "job": cycle.job_json(job)}


def _settled(job: Job, run: Run, rules: Rules) -> JsonObject:
    settlement = settle_failure(job, rules.circumstances(job, run.executor))
    decisions, gangs = cycle.samples_json(settlement.samples)
    public: list[JsonValue] = []
    if settlement.error:
        event = telling.failed(job, run, settlement.error, 0, retryable=settlement.retry)
        public.append(cycle.public_json(event))
    return {
        "decisions": decisions,
        "gangSkipped": gangs,
        "events": _events(settlement),
        "publicEvents": public,
        "job": cycle.job_json(settlement.job),
    }


def _events(settlement: Settlement) -> list[JsonValue]:
    """What Armada's log would hold."""
    events: list[JsonValue] = []
    if settlement.error:
        policy = settlement.explanation.policy if settlement.retry else ""
        shown = cycle.error_json(settlement.error, terminal=not settlement.retry, policy=policy)
        events.append({"type": "jobErrors", "errors": [shown]})
    if settlement.retry:
        info = cycle.scheduling_info(settlement.job.requirements, settlement.job.record)
        version = settlement.job.queued_version
        events.append({"type": "jobRequeued", "schedulingInfo": info, "updateSequenceNumber": version})
    return events


def _preempted(job: Job) -> JsonObject:
    """A preemption that was asked for over the API; never decided by the engine."""
    carried = preempt(job, Order(), 0)
    assert carried is not None
    run = next(effect.run for effect in carried.effects if isinstance(effect, RunChanged))
    told = [event for effect in carried.effects if isinstance(effect, EventsAppended) for event in effect.events]
    assert run.error is not None
    error = cycle.error_json(run.error, terminal=True, policy="")
    after = with_run(job, run)
    return {
        "decisions": [],
        "gangSkipped": 0,
        "events": [
            {"type": "jobRunPreempted", "runId": run.run_id, "message": run.error.message},
            {"type": "jobRunErrors", "runId": run.run_id, "errors": [error]},
            {"type": "jobErrors", "errors": [error]},
        ],
        "publicEvents": [
            cycle.public_json(event) for event in told if not isinstance(event, JobPreempting | JobLeaseReturned)
        ],
        "job": {**cycle.job_json(after), "failed": True},
    }


def expected(vector: Vector) -> JsonObject:
    """Armada's answer; of what a library says only Armada's own words, and no fault."""
    if "jobError" in vector.armada:
        return {"jobError": str(vector.armada["jobError"]).partition(" - ")[0]}
    if vector.armada_fault:
        return answer(vector.input)
    armada = obj(cycle.restated(vector.armada))
    stated = {key: value for key, value in armada.items() if key != "policyChangedTo"}
    if "job" in vector.differs_in and "decisions" in stated:
        # What became of the job is what the decision's label says: where one differs, so may the other.
        stated["decisions"] = answer(vector.input)["decisions"]
    return {
        **stated,
        "probes": [{**probe, "asked": _requirements(obj(probe["asked"]))} for probe in rows(armada["probes"])],
    }


def _requirements(asked: JsonObject) -> JsonObject:
    """What Refloat's probe is asked about; the record, which the rest of Armada's object is, has no say in it."""
    return {key: value for key, value in asked.items() if key not in ("resourceMutations", "version")}


def specification(vector: Vector, given: JsonObject) -> Iterable[str]:
    """What the specification says instead, by the reason that the vector gives."""
    for beginning, demand in DEMANDS:
        if vector.spec_differs.startswith(beginning):
            yield from demand(vector, given)
            return
    yield f"no demand is known for {vector.spec_differs!r}"


def _whole_event(vector: Vector, given: JsonObject) -> Iterable[str]:
    """The same entries, the failed one with everything that is known of the pod."""
    run = vector.armada["latestRun"]
    pod = obj(obj(obj(vector.input["runErrors"])[str(run)]).get("podError"))
    for armadas, ours in zip(rows(vector.armada["publicEvents"]), rows(given["publicEvents"]), strict=True):
        want = {
            **armadas,
            "cause": public_cause(text(pod.get("cause"))),
            "clusterId": pod.get("clusterId", ""),
            "nodeName": pod.get("nodeName", ""),
            "podName": pod.get("podName", ""),
            "containerStatuses": [
                {**c, "cause": public_cause(text(c["cause"]))} for c in rows(pod.get("containerErrors"))
            ],
        }
        if ours != want:
            yield f"the event is {ours}, not {want}"


def _requeued(vector: Vector, given: JsonObject) -> Iterable[str]:
    """Queued again, as long as fewer returned attempts than the limit were made and a node fits."""
    job = cycle.job_of(vector.input)
    within = returned_attempt_count(job) < whole(obj(vector.input["scheduler"])["maxAttemptedRuns"])
    fits = all(probe["answer"] for probe in rows(given["probes"]))
    if obj(given["job"])["queued"] is not (within and fits):
        yield f"queued is {obj(given['job'])['queued']}, within the limit {within}, a node fits {fits}"


def _undecided(vector: Vector, given: JsonObject) -> Iterable[str]:
    """No policy decides, and the job comes back only as a returned lease does."""
    if obj(given["engine"])["decided"] or given["decisions"]:
        yield "a policy decided"
    if obj(given["job"])["queued"] and not cycle.job_of(vector.input).runs[-1].returned:
        yield "the job came back"


def _grown_by_the_rule(vector: Vector, given: JsonObject) -> Iterable[str]:
    """Exactly the rule's quantity or factor more than before; else the job fits no node and has failed."""
    mutation = obj(obj(given["engine"])["mutation"])
    before = quantity.parse(str(obj(vector.input["job"])["memoryRequest"]))
    asked = obj(rows(given["probes"])[0]["asked"])
    factor = mutation.get("memoryFactor")
    if isinstance(factor, int | float):
        want = before.times_up(float(factor)).units
    else:
        want = (before + quantity.parse(str(mutation["memoryStatic"]))).units
    if asked["memoryRequestBytes"] != want:
        yield f"grown to {asked['memoryRequestBytes']} instead of {want}"
    fits = bool(rows(given["probes"])[-1]["answer"])
    label = rows(given["decisions"])[0]["decision"]
    if (obj(given["job"])["queued"], label) != (fits, "retry" if fits else "retry_unschedulable"):
        yield f"a node fits: {fits}; the job is queued: {obj(given['job'])['queued']}; the decision is {label}"


def _avoiding(vector: Vector, given: JsonObject) -> Iterable[str]:
    """The nodes of all attempted runs are avoided."""
    want = sorted({str(run["node"]) for run in rows(obj(vector.input["job"])["runs"]) if run["runAttempted"]})
    probes = rows(given["probes"])
    info = obj(probes[-1]["asked"]) if probes else obj(obj(given["job"])["schedulingInfo"])
    label = obj(vector.input["scheduler"])["nodeIdLabel"]
    found = [
        expression["values"]
        for term in _lists(info["requiredNodeTerms"])
        for expression in rows(term)
        if expression["key"] == label and expression["operator"] == "NotIn"
    ]
    if found != [want] * len(found) or bool(found) is not bool(want):
        yield f"avoided is {found}, not {want}"


def _lists(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, list) else []


DEMANDS = (
    ("a terminal failure is a normal failed event", _whole_event),
    ("the legacy limit bounds lease returns separately", _requeued),
    ("a preempted run is not retried", _undecided),
    ("static adds a fixed quantity", _grown_by_the_rule),
    ("resources.memory grows the job", _grown_by_the_rule),
    ("a policy that fails validation is skipped", _undecided),
    ("avoidSameNode avoids every node", _avoiding),
)

KIND = Kind("failedRun", answer, expected=expected, specification=specification)

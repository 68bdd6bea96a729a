"""Kind `leaseExpiry`: the scheduler's cycle over a job whose executor may have been silent for too long."""

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_scheduler.core.effects import EventsAppended, VerdictStored
from refloat_scheduler.core.explanation import Explanation
from refloat_scheduler.core.leases.expiry import expire
from refloat_scheduler.core.model import ErrorKind, Job, JobState, RunError
from refloat_scheduler.core.reconcile.world import Outcome
from refloat_scheduler.core.retry.counts import attempt_count, failure_count
from refloat_scheduler.core.retry.gates import GangAnnotationError, gang_cardinality
from refloat_scheduler.core.retry.texts import expiry_declined, lease_expired
from testkit.vectors.kinds.retry import cycle
from testkit.vectors.kinds.retry.errors import obj, whole
from testkit.vectors.kinds.retry.failed_run import NO_ERROR_YET
from testkit.vectors.model import Kind, Vector


def answer(question: JsonObject) -> JsonObject:
    """What becomes of the job if its executor's last heartbeat is older than the limit."""
    job = cycle.job_of(question)
    try:
        gang_cardinality(job.annotations)
    except GangAnnotationError as error:
        return {"jobError": str(error).partition(" - ")[0]}
    answered: dict[str, JsonValue] = {
        **NO_ERROR_YET,
        "failureCount": failure_count(job),
        "numAttempts": attempt_count(job),
        "probes": [],
    }
    run = job.latest_run
    if run is not None:
        answered["latestRun"] = run.run_id
    age = obj(question["heartbeatAgeSeconds"]).get(run.executor) if run and job.state is JobState.LEASED else None
    outcome, events = Outcome(), [dict[str, JsonValue]()][:0]
    if run is not None and whole(age) > whole(obj(question["scheduler"])["executorTimeoutSeconds"]):
        job, outcome = expire(job, run, cycle.rules_of(question, cycle.Probed(question)))
        events = _events(job, outcome)
    decisions, gangs = cycle.samples_json(outcome.samples)
    told = [event for effect in outcome.effects if isinstance(effect, EventsAppended) for event in effect.events]
    return {
        **answered,
        "decisions": decisions,
        "gangSkipped": gangs,
        "events": events,
        "publicEvents": [cycle.public_json(event) for event in told],
        "job": cycle.job_json(job),
    }


def _events(job: Job, outcome: Outcome) -> list[dict[str, JsonValue]]:
    """What Armada's log would hold."""
    why = next(effect.explanation for effect in outcome.effects if isinstance(effect, VerdictStored))
    run_error, job_error = _errors(why)
    of_run = "" if why.retry or not why.decision else why.policy
    run_shown = cycle.error_json(run_error, terminal=True, policy=of_run)
    job_shown = cycle.error_json(job_error, terminal=not why.retry, policy=why.policy if why.decision else "")
    events: list[dict[str, JsonValue]] = [
        {"type": "jobRunErrors", "runId": why.run_id, "errors": [run_shown]},
        {"type": "jobErrors", "errors": [job_shown]},
    ]
    if why.retry:
        info = cycle.scheduling_info(job.requirements, job.record)
        events.append({"type": "jobRequeued", "schedulingInfo": info, "updateSequenceNumber": job.queued_version})
    return events


def _errors(why: Explanation) -> tuple[RunError, RunError]:
    base = lease_expired()
    assert base.kind is ErrorKind.LEASE_EXPIRED
    shown = base if why.retry or not why.decision else expiry_declined(base, why.reason)
    return shown, shown


def expected(vector: Vector) -> JsonObject:
    """Armada's answer; of what a library says only Armada's own words, and no fault."""
    if "jobError" in vector.armada:
        return {"jobError": str(vector.armada["jobError"]).partition(" - ")[0]}
    return answer(vector.input) if vector.armada_fault else obj(cycle.restated(vector.armada))


KIND = Kind("leaseExpiry", answer, expected=expected)

"""Decides which submissions are accepted, and what job each becomes.

What Kubernetes would refuse for certain is refused here, where the user sees it at once with the path to the fault.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from refloat_common.core.ids import JobId
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_common.core.taxonomy import ANNOTATION_FAIL_FAST, ANNOTATION_GANG_ID
from refloat_host.core.errors import InvalidFieldError, InvalidPodSpecError
from refloat_scheduler.core.events import Event, JobQueued, JobSubmitted
from refloat_scheduler.core.fit.requirements import PodSpecError, container_amounts, items, requirements_of
from refloat_scheduler.core.model import Job, Requirements
from refloat_scheduler.core.retry.gates import GangAnnotationError, gang_cardinality

MAX_JOBS_PER_REQUEST = 10_000
MAX_POD_SPEC_BYTES = 65_535
"""Armada's `maxPodSpecSizeBytes`; a lease must fit into one message of the link."""

MAX_JOB_SET_CHARACTERS = 1024
MAX_OWNER_CHARACTERS = 253
MAX_PRIORITY = (1 << 32) - 1
"""A priority is an unsigned number of 32 bits inside Armada; lower goes first."""

MAX_CLIENT_ID_CHARACTERS = 253
MAX_METADATA_BYTES = 256 * 1024
"""Kubernetes' own limit on a pod's annotations."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z")
_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One job as it is asked for (Armada's `JobSubmitRequestItem`). `pod_spec` is Kubernetes JSON.

    `client_id` is the client's own id for the job: sent again, it stands for the same job.
    """

    pod_spec: JsonObject
    namespace: str = "default"
    priority: int = 0
    client_id: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A submission that was checked. `spec_text` is its pod spec as it is stored."""

    submission: Submission
    annotations: Mapping[str, str]
    requirements: Requirements
    spec_text: str


def checked(submissions: Sequence[Submission], *, job_set: str, owner: str) -> tuple[Accepted, ...]:
    """All of a request's jobs, or the first fault in any of them.

    Raises:
        InvalidFieldError: a field can't be used.
    """
    if not job_set or len(job_set) > MAX_JOB_SET_CHARACTERS:
        raise InvalidFieldError("jobSetId", job_set, f"must have 1 to {MAX_JOB_SET_CHARACTERS} characters")
    if len(owner) > MAX_OWNER_CHARACTERS:
        raise InvalidFieldError("owner", owner, f"must have at most {MAX_OWNER_CHARACTERS} characters")
    if not 1 <= len(submissions) <= MAX_JOBS_PER_REQUEST:
        raise InvalidFieldError("jobRequestItems", len(submissions), f"must be 1 to {MAX_JOBS_PER_REQUEST} jobs")
    accepted = tuple(_checked(submission, f"jobRequestItems[{i}]") for i, submission in enumerate(submissions))
    _check_gangs(accepted)
    return accepted


def new_job(accepted: Accepted, job_id: JobId, *, queue: str, job_set: str, owner: str, now_ms: int) -> Job:
    """The job that an accepted submission becomes."""
    return Job(
        job_id=job_id,
        queue=queue,
        job_set=job_set,
        owner=owner,
        namespace=accepted.submission.namespace,
        labels=accepted.submission.labels,
        annotations=accepted.annotations,
        priority=accepted.submission.priority,
        submitted_at_ms=now_ms,
        requirements=accepted.requirements,
    )


def submission_events(job: Job) -> tuple[Event, ...]:
    """What the stream says of a new job."""
    submitted = JobSubmitted(
        job_id=job.job_id,
        job_set_id=job.job_set,
        queue=job.queue,
        created_ms=job.submitted_at_ms,
        owner=job.owner,
        namespace=job.namespace,
        priority=job.priority,
    )
    queued = JobQueued(job_id=job.job_id, job_set_id=job.job_set, queue=job.queue, created_ms=job.submitted_at_ms)
    return submitted, queued


def _checked(submission: Submission, path: str) -> Accepted:
    if not _NAME.match(submission.namespace):
        raise InvalidFieldError(f"{path}.namespace", submission.namespace, "is no name of a Kubernetes namespace")
    if not 0 <= submission.priority <= MAX_PRIORITY:
        raise InvalidFieldError(f"{path}.priority", submission.priority, f"must be between 0 and {MAX_PRIORITY}")
    if len(submission.client_id) > MAX_CLIENT_ID_CHARACTERS:
        why = f"must have at most {MAX_CLIENT_ID_CHARACTERS} characters"
        raise InvalidFieldError(f"{path}.clientId", submission.client_id, why)
    _check_metadata(submission, path)
    text = _spec_text(submission.pod_spec, f"{path}.podSpec")
    return Accepted(
        submission=submission,
        annotations=_with_fail_fast(submission.annotations, f"{path}.annotations"),
        requirements=_requirements(submission.pod_spec, f"{path}.podSpec"),
        spec_text=text,
    )


def _check_metadata(submission: Submission, path: str) -> None:
    for kind, values in (("labels", submission.labels), ("annotations", submission.annotations)):
        for key, value in values.items():
            if not _KEY.match(key):
                raise InvalidFieldError(f"{path}.{kind}", key, "is no key of a Kubernetes label or annotation")
            if kind == "labels" and not _LABEL_VALUE.match(value):
                raise InvalidFieldError(f"{path}.labels[{key}]", value, "is no Kubernetes label value")
    size = sum(len(key) + len(value.encode()) for key, value in submission.annotations.items())
    if size > MAX_METADATA_BYTES:
        raise InvalidFieldError(f"{path}.annotations", f"{size} bytes", f"must be at most {MAX_METADATA_BYTES} bytes")


def _spec_text(spec: JsonObject, path: str) -> str:
    text = msgspec.json.encode(spec)
    if len(text) > MAX_POD_SPEC_BYTES:
        raise InvalidFieldError(path, f"{len(text)} bytes", f"must be at most {MAX_POD_SPEC_BYTES} bytes of JSON")
    return text.decode()


def _requirements(spec: JsonObject, path: str) -> Requirements:
    """What the pod asks of a node; on the way every container is looked at."""
    try:
        names = [_container(container, at) for container, at in items(spec, "containers")]
        if not names:
            raise InvalidFieldError(f"{path}.containers", spec.get("containers"), "must hold at least one container")
        names += [_container(container, at) for container, at in items(spec, "initContainers")]
        requirements = requirements_of(spec)
    except PodSpecError as error:
        raise InvalidPodSpecError(f"{path}.{error.path}", error.problem) from error
    for name in names:
        if names.count(name) > 1:
            raise InvalidFieldError(f"{path}.containers", name, "is the name of two containers")
    return requirements


def _container(container: JsonObject, path: str) -> JsonValue:
    name = container.get("name")
    if not isinstance(name, str) or not _NAME.match(name):
        raise PodSpecError(f"{path}.name", f"{name!r} is no name of a container")
    requests, limits = (container_amounts(container, path, kind) for kind in ("requests", "limits"))
    for kind, amounts in (("requests", requests), ("limits", limits)):
        for resource, amount in amounts.items():
            if amount.nanos < 0:
                raise PodSpecError(f"{path}.resources.{kind}.{resource}", f'"{amount}" is negative')
    for resource, limit in limits.items():
        if requests[resource].nanos > limit.nanos:
            problem = f'"{requests[resource]}" is more than its limit "{limit}"'
            raise PodSpecError(f"{path}.resources.requests.{resource}", problem)
    return name


def _with_fail_fast(annotations: Mapping[str, str], path: str) -> Mapping[str, str]:
    """Annotations as they are stored: every member of a gang of two or more is fail-fast (Armada facts, 4.5)."""
    try:
        cardinality = gang_cardinality(annotations)
    except GangAnnotationError as error:
        raise InvalidFieldError(path, annotations.get(ANNOTATION_GANG_ID), f"can't be a gang: {error}") from error
    if cardinality == 1:
        return annotations
    given = annotations.get(ANNOTATION_FAIL_FAST, "true")
    if given != "true":
        raise InvalidFieldError(f"{path}[{ANNOTATION_FAIL_FAST}]", given, 'must be "true" or left out for a gang')
    return {**annotations, ANNOTATION_FAIL_FAST: "true"}


def _check_gangs(accepted: Sequence[Accepted]) -> None:
    """A gang is submitted whole, in one request, and its members agree on its size."""
    gangs: dict[str, list[int]] = {}
    for job in accepted:
        gang = job.annotations.get(ANNOTATION_GANG_ID)
        if gang is not None:
            gangs.setdefault(gang, []).append(gang_cardinality(job.annotations))
    for gang, cardinalities in gangs.items():
        if any(cardinality != len(cardinalities) for cardinality in cardinalities):
            wanted = " or ".join(str(cardinality) for cardinality in sorted(set(cardinalities)))
            raise InvalidFieldError(
                f"annotations[{ANNOTATION_GANG_ID}]", gang, f"is a gang of {wanted}, and {len(cardinalities)} are here"
            )

"""Whether the engine may decide at all. The first gate that closes leaves the failure to legacy behaviour.

Order (Armada's, with Refloat's additions marked +): flag off; + executor not capable; no policy named; gang;
fail-fast; policy not served; no error; lease returned; + run preempted. So a gang is counted even where its policy is
missing, and an attached policy that is missing never falls back to the default policy.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from refloat_common.core.taxonomy import ANNOTATION_FAIL_FAST, ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_scheduler.core.explanation import Gate
from refloat_scheduler.core.model import ErrorKind, Job, Run
from refloat_scheduler.core.policies.compiled import CompiledPolicy
from refloat_scheduler.core.signals import Level, Metric, Note, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySettings:
    """The settings that a verdict depends on; `settings_hash` names them in its explanation.

    `attempt_limit` is `scheduling.maxRetries` + 1: how often a lease may be returned on the legacy path.
    """

    enabled: bool = False
    global_max_retries: int = 5
    default_policy: str = ""
    attempt_limit: int = 4
    node_id_label: str = "kubernetes.io/hostname"
    settings_hash: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """The gate reached. `policy_name` is the policy that was looked for, empty where it did not come to that."""

    gate: Gate
    policy_name: str = ""
    policy: CompiledPolicy | None = None
    notes: tuple[Note, ...] = ()
    samples: tuple[Sample, ...] = ()


class GangAnnotationError(ValueError):
    """The gang annotations of a job make no sense; such a job is refused at submission."""


_INT64_LIMIT = 1 << 63


def gang_cardinality(annotations: Mapping[str, str]) -> int:
    """How many jobs form this job's gang; 1 for a job in none (an annotation of cardinality alone makes no gang).

    Raises:
        GangAnnotationError: an empty id, or a cardinality that is missing, no whole number, or not positive.
    """
    gang = annotations.get(ANNOTATION_GANG_ID)
    if gang is None:
        return 1
    if not gang:
        raise GangAnnotationError("gang id is empty")
    text = annotations.get(ANNOTATION_GANG_CARDINALITY)
    if text is None:
        raise GangAnnotationError(f"gang cardinality annotation {ANNOTATION_GANG_CARDINALITY} is missing")
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(_INT64_LIMIT)):
        raise GangAnnotationError(f'gang cardinality is not parseable - "{text}" is no whole number')
    cardinality = int(text)
    if cardinality <= 0:
        raise GangAnnotationError(f"gang cardinality {cardinality} is non-positive")
    return cardinality


def in_gang(job: Job) -> bool:
    """Whether the job belongs to a gang of two or more. Annotations that make no sense count as a gang: no retry."""
    if ANNOTATION_GANG_ID not in job.annotations:
        return False
    try:
        return gang_cardinality(job.annotations) > 1
    except GangAnnotationError:
        return True


def is_fail_fast(job: Job) -> bool:
    """Whether the job asked to fail on its first failure; only the exact text `true` asks for it."""
    return job.annotations.get(ANNOTATION_FAIL_FAST) == "true"


def governing_policy(queue_policies: tuple[str, ...] | None, settings: RetrySettings) -> str:
    """The name of the policy for a queue: its first one, else the default; empty if neither, or with the flag off."""
    if not settings.enabled:
        return ""
    return queue_policies[0] if queue_policies else settings.default_policy


def pass_gates(
    job: Job,
    run: Run,
    queue_policies: tuple[str, ...] | None,
    policies: Mapping[str, CompiledPolicy],
    settings: RetrySettings,
    *,
    capable: bool,
) -> Passage:
    """The gate at which the failure of `run` stops, or PASSED with the policy that decides it."""
    if not settings.enabled:
        return Passage(Gate.FLAG_OFF)
    if not capable:
        return Passage(Gate.EXECUTOR_NOT_CAPABLE, samples=(Sample(Metric.NOT_CAPABLE, (("executor", run.executor),)),))
    name = governing_policy(queue_policies, settings)
    if not name:
        return Passage(Gate.NO_POLICY)
    if in_gang(job):
        note = Note(Level.DEBUG, f'job {job.job_id} is in a gang: retry policy "{name}" does not decide its failure')
        return Passage(Gate.GANG, name, notes=(note,), samples=(Sample(Metric.GANG_SKIPPED, (("policy", name),)),))
    if is_fail_fast(job):
        return Passage(Gate.FAIL_FAST, name)
    policy = policies.get(name)
    if policy is None:
        return _missing(job, name)
    return Passage(_error_gate(run), name, policy)


def _error_gate(run: Run) -> Gate:
    """The gates that look at the run itself."""
    if run.error is None:
        return Gate.NO_ERROR
    if run.error.kind is ErrorKind.POD_LEASE_RETURNED:
        return Gate.LEASE_RETURNED
    ended_by_preemption = run.preempted and run.error.kind is not ErrorKind.LEASE_EXPIRED
    return Gate.PREEMPTED if ended_by_preemption else Gate.PASSED


def _missing(job: Job, name: str) -> Passage:
    text = (
        f'retry policy "{name}" referenced by queue "{job.queue}" not found in cache; falling back to legacy behaviour'
    )
    sample = Sample(Metric.POLICY_MISSING, (("queue", job.queue), ("policy", name)))
    return Passage(Gate.POLICY_MISSING, name, notes=(Note(Level.WARNING, text),), samples=(sample,))

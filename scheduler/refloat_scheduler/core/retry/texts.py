"""The texts of terminal failures. They are Armada's: users and tools search for them."""

from dataclasses import replace

from refloat_common.core.taxonomy import INTERNAL, Cause, Internal
from refloat_scheduler.core.model import ErrorKind, RunError

NO_UNTRIED_NODE = "retry granted, but no untried node fits the job"
GROWN_TOO_LARGE = "retry granted, but the job grown by the rule's memory bump fits no node"
_NO_MORE = "this job will no longer be retried"


def lease_expired() -> RunError:
    """The error of a run whose executor was lost."""
    return RunError(kind=ErrorKind.LEASE_EXPIRED, category=INTERNAL, subcategory=Internal.LEASE_EXPIRED)


def declined(error: RunError, reason: str) -> RunError:
    """The terminal error of a failure that a policy declined to retry.

    Keeps everything that is known of the pod, so that the event is a normal failed event (Armada keeps the text and
    the category alone).
    """
    return replace(error, kind=ErrorKind.MAX_RUNS_EXCEEDED, message=_with_final(f"Retry policy: {reason}", error))


def expiry_declined(error: RunError, reason: str) -> RunError:
    """The terminal error of an expired lease that a policy declined to retry."""
    message = f"Lease expired and not retried by policy: {reason}"
    return replace(error, kind=ErrorKind.MAX_RUNS_EXCEEDED, message=message)


def max_runs_exceeded(error: RunError, attempts: int, limit: int, counted: int, *, fail_fast: bool) -> RunError:
    """The terminal error of a returned lease on the legacy path; the last run's message names the real cause.

    `counted` is what was compared with the limit, `attempts` how often the job was tried at all.
    """
    text = f"Maximum number of attempts ({limit}) reached - {_NO_MORE}"
    if counted < limit:
        text = f"Job was attempted {attempts} times, and has been tried once on all nodes it can run on - {_NO_MORE}"
    if fail_fast:
        text = f"Job has fail fast flag set - {_NO_MORE}"
    if error.message:
        text = f"{text}\n\nFinal run error:\n{error.message}"
    return replace(
        error,
        kind=ErrorKind.MAX_RUNS_EXCEEDED,
        category=INTERNAL,
        subcategory=Internal.MAX_RUNS_EXCEEDED,
        message=text,
    )


def _with_final(text: str, error: RunError) -> str:
    """The text, followed by what is known of the failed pod."""
    if error.kind is not ErrorKind.POD_ERROR:
        return text
    lines = [error.message] if error.message else []
    lines += [f"{c.name or 'container'} exited with code {c.exit_code}: {c.message}" for c in error.containers]
    return "\n".join([f"{text}\n\nFinal run error:", *lines]) if lines else text


_SILENT = frozenset(
    {
        ErrorKind.POD_LEASE_RETURNED,
        ErrorKind.KUBERNETES_ERROR,
        ErrorKind.CONTAINER_ERROR,
        ErrorKind.EXECUTOR_ERROR,
    },
)
"""Kinds of which Armada's converter to failed events knows nothing: such an event carries no reason."""


def public_reason(error: RunError) -> str:
    """The `reason` of the public failed event for this error."""
    if error.kind is ErrorKind.LEASE_EXPIRED:
        return "Lease expired"
    return "" if error.kind in _SILENT else error.message


def public_cause(error: RunError) -> str:
    """The `cause` of the public failed event for this error."""
    return Cause.REJECTED if error.kind is ErrorKind.JOB_REJECTED else error.cause

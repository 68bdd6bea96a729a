"""Turns HTTP statuses and aiohttp's errors into the named outcomes of `core.cluster.answers`, in this one place."""

import aiohttp

from refloat_executor.core.cluster.answers import (
    Answer,
    Broken,
    Conflict,
    Denied,
    Done,
    Expired,
    Missing,
    Refusal,
    Silent,
    Throttled,
    Unsent,
)
from refloat_executor.core.cluster.wire import decode_status

OK, MULTIPLE = 200, 300
TOO_MANY, SERVER_ERROR = 429, 500
DEFAULT_RETRY_AFTER_S = 1.0
LONGEST_RETRY_AFTER_S = 60.0


def answer_of(status: int, body: bytes, retry_after: str | None) -> Answer:
    """What a response means."""
    return Done(body) if OK <= status < MULTIPLE else refusal_of(status, body, retry_after)


def refusal_of(status: int, body: bytes, retry_after: str | None) -> Refusal:
    """What a response that is not good means."""
    said = decode_status(body)
    if status == TOO_MANY or (status == SERVER_ERROR and retry_after):
        # The API server answers 500 with Retry-After where its storage asks for patience.
        return Throttled(_seconds(retry_after))
    match status:
        case 404:
            return Missing(said.message)
        case 409:
            return Conflict(said.message, already_exists=said.reason == "AlreadyExists")
        case 410:
            return Expired(said.message)
        case 504:
            return Silent(said.message or "gateway timeout")
        case _ if status >= SERVER_ERROR:
            return Broken(status, said.message)
        case _:
            return Denied(status, said.reason, said.message)


def refusal_of_error(error: Exception) -> Refusal:
    """What an error of the client means: whether the request may have been taken."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Unsent(text)
    return Silent(text)


def _seconds(retry_after: str | None) -> float:
    """The header's seconds. A date, which Kubernetes never sends, counts as the default."""
    try:
        return min(LONGEST_RETRY_AFTER_S, max(0.0, float(retry_after or DEFAULT_RETRY_AFTER_S)))
    except ValueError:
        return DEFAULT_RETRY_AFTER_S

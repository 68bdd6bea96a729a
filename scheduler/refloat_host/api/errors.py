"""Says with which gRPC status, and in which words, a request is refused (Armada facts, sections 5.5 to 5.7)."""

import grpc

from refloat_host.core.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    InvalidFieldError,
    NotFoundError,
    PoliciesMissingError,
    RequestRefusedError,
)
from refloat_scheduler.service.contract import StoreUnavailable


class PolicyNameMissingError(InvalidArgumentError):
    """A policy is asked for without a name."""

    def __init__(self) -> None:
        super().__init__('retry policy name must not be empty: name is ""')


class StreamMissingError(RequestRefusedError):
    """There is no such event stream."""

    def __init__(self, what: str) -> None:
        super().__init__(f"[GetJobSetEvents] {what} does not exist")


class TooSlowError(Exception):
    """A request was not done within the server's own limit."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"not done within {limit_s:g}s; it may still be carried out")


class StoppingError(Exception):
    """The server stops, and with it every stream."""

    def __init__(self) -> None:
        super().__init__("the host is stopping")


REFUSALS = (RequestRefusedError, StoreUnavailable, TooSlowError, StoppingError)
"""All that a request may end with; anything else is a defect of ours."""


def status_of(error: Exception, doing: str) -> tuple[grpc.StatusCode, str]:
    """Status and text for one of `REFUSALS`.

    Args:
        error: what was raised.
        doing: the request in words, as in `creating queue`.
    """
    within = f"error {doing}: {error}"
    match error:
        case NotFoundError():
            return grpc.StatusCode.NOT_FOUND, f"error: {error}"
        case StreamMissingError():
            return grpc.StatusCode.NOT_FOUND, str(error)
        case InvalidFieldError() | PoliciesMissingError():
            return grpc.StatusCode.INVALID_ARGUMENT, within
        case InvalidArgumentError():
            return grpc.StatusCode.INVALID_ARGUMENT, str(error)
        case FailedPreconditionError():
            return grpc.StatusCode.FAILED_PRECONDITION, within
        case StoreUnavailable() | StoppingError():
            return grpc.StatusCode.UNAVAILABLE, within
        case TooSlowError():
            return grpc.StatusCode.DEADLINE_EXCEEDED, within
        case _:
            return grpc.StatusCode.UNKNOWN, within

"""Names the outcomes of a request to the Kubernetes API, so that HTTP codes are read in one place only.

The adapter translates each response once. What matters to the executor is not the code but what is now known: whether
the request took effect, did not, or may have (`Silent`, and `Broken` for a request that writes).
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Done:
    """2xx: the request took effect. `body` is the response as it came."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Missing:
    """404: nothing has that name (or the namespace does not exist)."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """409: a name that is taken (`already_exists`), or a precondition that does not hold."""

    message: str
    already_exists: bool


@dataclass(frozen=True, slots=True)
class Expired:
    """410: the resourceVersion or continue token is older than what the server remembers."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class Throttled:
    """429, which never took effect: to be tried again after `retry_after_s` (the header, or 1 s)."""

    retry_after_s: float


@dataclass(frozen=True, slots=True)
class Denied:
    """Any other 4xx: the request as it is will never be accepted. `reason` is that of the Status object."""

    code: int
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Broken:
    """5xx but 504: the server answered that it failed. A write may have taken effect before, but is over now."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Unsent:
    """No connection could be made: the request did not take effect."""

    message: str


@dataclass(frozen=True, slots=True)
class Silent:
    """No answer came (timeout, a cut connection, or 504): a write may have taken effect, or may still."""

    message: str


Answer: TypeAlias = Done | Missing | Conflict | Expired | Throttled | Denied | Broken | Unsent | Silent
"""What a request came to."""

Refusal: TypeAlias = Missing | Conflict | Expired | Throttled | Denied | Broken | Unsent | Silent
"""Every outcome but the good one."""


def describe(answer: Refusal) -> str:
    """One line for a log or a report."""
    match answer:
        case Throttled(retry_after_s):
            return f"429: asked to wait {retry_after_s:g} s"
        case Denied(code, reason, message):
            return f"{code} {reason}: {message}"
        case Broken(code, message):
            return f"{code}: {message}"
        case _:
            return f"{type(answer).__name__.lower()}: {answer.message}"

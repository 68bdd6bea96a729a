"""Why a request is refused, one class per kind; the management API gives each its own status code."""

from collections.abc import Sequence

MAX_SHOWN_CHARACTERS = 200
"""How much of a refused value its error shows."""


class RequestRefusedError(Exception):
    """A request that changes nothing, and why."""


class InvalidArgumentError(RequestRefusedError):
    """The request itself can't be carried out, however things stand."""


class InvalidFieldError(InvalidArgumentError):
    """A field holds a value that can't be used."""

    def __init__(self, field: str, value: object, why: str) -> None:
        self.field = field
        self.value = value
        super().__init__(f"{field}: {_shown(value)} {why}")


class InvalidPodSpecError(InvalidFieldError):
    """A pod spec holds what can't be used; `problem` quotes it, and `field` leads to it."""

    def __init__(self, field: str, problem: str) -> None:
        super(InvalidFieldError, self).__init__(f"{field}: {problem}")
        self.field = field
        self.value = problem


class InvalidRetryPolicyError(InvalidArgumentError):
    """A retry policy that may not be stored; `why` names the rule and the value."""

    def __init__(self, why: str) -> None:
        super().__init__(f"invalid retry policy: {why}")


class PoliciesMissingError(InvalidArgumentError):
    """A queue names retry policies that do not exist; their names are quoted, so that a stray space shows."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        super().__init__("retry policies do not exist: " + ", ".join(f'"{name}"' for name in names))


class NotFoundError(RequestRefusedError):
    """There is nothing of that name."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        super().__init__(f'could not find {kind} "{name}"')


class FailedPreconditionError(RequestRefusedError):
    """The request is sound, but not as things stand."""


class PolicyInUseError(FailedPreconditionError):
    """A retry policy is still attached to queues (specification, *Managing policies*)."""

    def __init__(self, policy: str, queues: Sequence[str], *, more: bool = False) -> None:
        self.queues = tuple(queues)
        named = ", ".join(queues) + (" and more" if more else "")
        super().__init__(f'retry policy "{policy}" is attached to queues: {named}; detach it from them first')


class QueueInUseError(FailedPreconditionError):
    """A queue still has jobs that are not over."""

    def __init__(self, queue: str, unfinished: int) -> None:
        super().__init__(f'queue "{queue}" has {unfinished} unfinished jobs; cancel them or wait for them first')


def _shown(value: object) -> str:
    """The value as it was given, cut where it is long."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[:MAX_SHOWN_CHARACTERS] + "…"

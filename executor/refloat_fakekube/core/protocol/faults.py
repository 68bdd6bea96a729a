"""Decides which calls go wrong on purpose, and how: a plan of faults, each for the next so many matching calls."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from refloat_fakekube.core.objects import Json, number, text
from refloat_fakekube.core.protocol.routes import Route
from refloat_fakekube.core.refusals import (
    BadRequestError,
    ConflictError,
    ForbiddenError,
    GatewayTimeoutError,
    InternalError,
    RefusalError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)

KINDS = ("status", "hang", "drop", "delay", "body")
"""Answer with an error; never answer; cut the connection; answer late; answer with other bytes."""
_MAX_FAULTS = 1_000
_ANY = "*"


class BadFaultError(ValueError):
    """A fault that can't be; names the field and its value."""

    def __init__(self, field_name: str, value: object) -> None:
        super().__init__(f"{field_name}: {value!r} is not possible")


@dataclass(frozen=True, slots=True)
class Fault:
    """For the next `count` calls of `verb` on `resource` (RBAC names, `*` any; `name` and `namespace` empty: any).

    `effect`: whether the call is carried out all the same, so that only its answer is lost. `code` and
    `retry_after_s` belong to the kind status, `seconds` to hang and delay, `body` to body.
    """

    kind: str = "status"
    verb: str = _ANY
    resource: str = _ANY
    namespace: str = ""
    name: str = ""
    count: int = 1
    code: int = 500
    retry_after_s: int = 0
    effect: bool = False
    seconds: float = 3600.0
    body: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadFaultError("kind", self.kind)
        if self.kind == "status" and self.code not in _REFUSALS:
            raise BadFaultError("code", self.code)
        if self.count < 1:
            raise BadFaultError("count", self.count)

    def hits(self, route: Route) -> bool:
        """Whether the call is one of those meant."""
        return (
            self.verb in {_ANY, route.verb}
            and self.resource in {_ANY, route.resource_path}
            and self.namespace in {"", route.target.namespace}
            and self.name in {"", route.target.name}
        )

    def refusal(self, route: Route) -> RefusalError:
        """The error that a fault of kind status answers with."""
        return _REFUSALS[self.code](route, self.retry_after_s)


_BUSY = "The server is currently unable to handle the request"


def _conflict(route: Route, _: int) -> RefusalError:
    resource = route.target.resource
    return ConflictError(resource.group, resource.plural, route.target.name, "the object has been modified")


def _forbidden(route: Route, _: int) -> RefusalError:
    return ForbiddenError(
        f"{route.resource_path} is forbidden: a fault was asked for", kind=route.target.resource.plural
    )


_REFUSALS: dict[int, Callable[[Route, int], RefusalError]] = {
    401: lambda _route, _after: UnauthorizedError(),
    403: _forbidden,
    409: _conflict,
    429: lambda _route, after: TooManyRequestsError(
        "the server has received too many requests and has asked us to try again later", retry_after_s=after or 1
    ),
    500: lambda _route, _after: InternalError("a fault was asked for"),
    503: lambda _route, after: UnavailableError(_BUSY, retry_after_s=after),
    504: lambda _route, _after: GatewayTimeoutError("Timeout: request did not complete within the allotted timeout"),
}


@dataclass(slots=True)
class FaultPlan:
    """The faults that are still to come, in the order in which they were asked for."""

    _waiting: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault) -> None:
        """Ask for a fault.

        Raises:
            BadRequestError: too many are waiting.
        """
        if len(self._waiting) >= _MAX_FAULTS:
            raise BadRequestError(f"at most {_MAX_FAULTS} faults may wait")
        self._waiting.append(fault)

    def clear(self) -> None:
        """Forget all."""
        self._waiting.clear()

    def take(self, route: Route) -> Fault | None:
        """The fault for this call, counted down; None when the call goes well."""
        for place, fault in enumerate(self._waiting):
            if fault.hits(route):
                if fault.count > 1:
                    self._waiting[place] = replace(fault, count=fault.count - 1)
                else:
                    del self._waiting[place]
                return fault
        return None

    def waiting(self) -> Iterable[Fault]:
        """What is still to come."""
        return tuple(self._waiting)


def fault_from(body: Json) -> Fault:
    """A fault from the JSON of the admin endpoint; keys are the field names in camel case.

    Raises:
        BadFaultError: a key is unknown or its value is impossible.
    """
    unknown = set(body) - set(_KEYS)
    if unknown:
        raise BadFaultError("key", min(unknown))
    seconds = body.get("seconds", 3600.0)
    if not isinstance(seconds, int | float):
        raise BadFaultError("seconds", seconds)
    return Fault(
        kind=text(body, "kind") or "status",
        verb=text(body, "verb") or _ANY,
        resource=text(body, "resource") or _ANY,
        namespace=text(body, "namespace"),
        name=text(body, "name"),
        count=_whole(body, "count", 1),
        code=_whole(body, "code", 500),
        retry_after_s=_whole(body, "retryAfterSeconds", 0),
        effect=body.get("effect") is True,
        seconds=float(seconds),
        body=text(body, "body"),
    )


_KEYS = (
    "kind", "verb", "resource", "namespace", "name", "count", "code", "retryAfterSeconds", "effect", "seconds", "body",
)  # fmt: skip


def _whole(body: Json, key: str, default: int) -> int:
    if key not in body:
        return default
    value = number(body, key)
    if value is None:
        raise BadFaultError(key, body[key])
    return value

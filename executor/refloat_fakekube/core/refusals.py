"""Why a request is refused: one class per condition, each with the HTTP code, reason and words of the real API server.

Source of the words: `k8s.io/apimachinery/pkg/api/errors`. The server turns them into `Status` objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from refloat_fakekube.core.objects import Json
from refloat_fakekube.core.resources import Resource


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of `details.causes`."""

    reason: str
    message: str
    field: str = ""

    def body(self) -> Json:
        """The cause as Kubernetes writes it."""
        made: Json = {"reason": self.reason, "message": self.message}
        if self.field:
            made["field"] = self.field
        return made

    def words(self) -> str:
        """The cause inside a message."""
        return f"{self.field}: {self.message}" if self.field else self.message


class RefusalError(Exception):
    """A request that is answered with a `Status` of failure."""

    code = 500
    reason = "InternalError"
    always_details = False

    def __init__(
        self,
        message: str,
        *,
        group: str = "",
        kind: str = "",
        name: str = "",
        causes: Sequence[Cause] = (),
        retry_after_s: int = 0,
        next_page: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.group, self.kind, self.name = group, kind, name
        self.causes = tuple(causes)
        self.retry_after_s = retry_after_s
        self.next_page = next_page

    def status(self) -> Json:
        """The `Status` object (metav1.Status)."""
        details: Json = {}
        for key, value in (("name", self.name), ("group", self.group), ("kind", self.kind)):
            if value:
                details[key] = value
        if self.causes:
            details["causes"] = [cause.body() for cause in self.causes]
        if self.retry_after_s:
            details["retryAfterSeconds"] = self.retry_after_s
        metadata: Json = {"continue": self.next_page} if self.next_page else {}
        body: Json = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
        body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if details or self.always_details:
            body["details"] = details
        body["code"] = self.code
        return body


class NotFoundError(RefusalError):
    """No object of that name."""

    code, reason = 404, "NotFound"

    def __init__(self, resource: Resource, name: str) -> None:
        super().__init__(
            f'{resource.qualified} "{name}" not found', group=resource.group, kind=resource.plural, name=name
        )


class NoSuchPathError(RefusalError):
    """No such resource or path."""

    code, reason, always_details = 404, "NotFound", True

    def __init__(self) -> None:
        super().__init__("the server could not find the requested resource")


class NotServedError(RefusalError):
    """Nothing of that group is served; the real server answers such a path with plain text."""

    code, reason = 404, "NotFound"

    def __init__(self) -> None:
        super().__init__("404 page not found\n")


class AlreadyExistsError(RefusalError):
    """Create under a name that is taken, perhaps by an object that is `leaving`."""

    code, reason = 409, "AlreadyExists"

    def __init__(self, resource: Resource, name: str, *, leaving: bool = False) -> None:
        words = f'{resource.qualified} "{name}" already exists'
        words = f"object is being deleted: {words}" if leaving else words
        super().__init__(words, group=resource.group, kind=resource.plural, name=name)


class ConflictError(RefusalError):
    """A precondition does not hold, or the object was changed meanwhile."""

    code, reason = 409, "Conflict"

    def __init__(self, group: str, kind: str, name: str, why: str) -> None:
        qualified = f"{kind}.{group}" if group else kind
        super().__init__(
            f'Operation cannot be fulfilled on {qualified} "{name}": {why}', group=group, kind=kind, name=name
        )


class ApplyConflictError(RefusalError):
    """Server-side apply of fields that another manager owns."""

    code, reason = 409, "Conflict"

    def __init__(self, message: str, causes: Sequence[Cause]) -> None:
        super().__init__(message, causes=causes)


class InvalidError(RefusalError):
    """The object breaks a rule; each cause names a field."""

    code, reason = 422, "Invalid"

    def __init__(self, group: str, kind: str, name: str, causes: Sequence[Cause]) -> None:
        words = [cause.words() for cause in dict.fromkeys(causes)]
        joined = f": {words[0]}" if len(words) == 1 else f": [{', '.join(words)}]" if words else ""
        qualified = f"{kind}.{group}" if group else kind
        super().__init__(f'{qualified} "{name}" is invalid{joined}', group=group, kind=kind, name=name, causes=causes)


class RejectedPatchError(RefusalError):
    """A JSON patch that can't be carried out, or whose test fails."""

    code, reason, always_details = 422, "Invalid", True

    def __init__(self) -> None:
        super().__init__("the server rejected our request due to an error in our request")


class UnforeseenError(RefusalError):
    """What the real server answers with 500 and no reason: an error nobody foresaw on its way up."""

    reason = ""


class BadRequestError(RefusalError):
    """The request makes no sense as it stands."""

    code, reason = 400, "BadRequest"


class UnauthorizedError(RefusalError):
    """No token, or not the right one."""

    code, reason = 401, "Unauthorized"

    def __init__(self) -> None:
        super().__init__("Unauthorized")


class ForbiddenError(RefusalError):
    """Known, but not allowed."""

    code, reason = 403, "Forbidden"


class MethodNotAllowedError(RefusalError):
    """The resource has no such verb."""

    code, reason, always_details = 405, "MethodNotAllowed", True

    def __init__(self) -> None:
        super().__init__("the server does not allow this method on the requested resource")


class NotAcceptableError(RefusalError):
    """None of the wanted content types can be served."""

    code, reason = 406, "NotAcceptable"

    def __init__(self) -> None:
        super().__init__("only the following media types are accepted: application/json, application/yaml")


class ExpiredError(RefusalError):
    """The resource version is older than what is kept."""

    code, reason = 410, "Expired"


class TooLargeError(RefusalError):
    """The body is over the limit."""

    code, reason = 413, "RequestEntityTooLarge"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"Request entity too large: limit is {limit_bytes}")


class UnsupportedMediaTypeError(RefusalError):
    """The body's content type is not taken here."""

    code, reason = 415, "UnsupportedMediaType"

    def __init__(self, accepted: Sequence[str]) -> None:
        super().__init__(
            "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
        )


class UnsupportedPatchError(RefusalError):
    """The body of a PATCH names no form of patch."""

    code, reason, always_details = 415, "UnsupportedMediaType", True

    def __init__(self) -> None:
        super().__init__("415: Unsupported Media Type")


class TooManyRequestsError(RefusalError):
    """Asked to come again later (`Retry-After`)."""

    code, reason = 429, "TooManyRequests"


class InternalError(RefusalError):
    """The server failed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Internal error occurred: {why}", causes=(Cause("", why),))


class UnavailableError(RefusalError):
    """The server can't answer now."""

    code, reason = 503, "ServiceUnavailable"


class TooNewError(RefusalError):
    """The resource version lies in the future (`ResourceVersionTooLarge`)."""

    code, reason = 504, "Timeout"

    def __init__(self, asked: int, current: int) -> None:
        words = f"Too large resource version: {asked}, current: {current}"
        super().__init__(
            f"Timeout: {words}",
            causes=(Cause("ResourceVersionTooLarge", "Too large resource version"),),
            retry_after_s=1,
        )


class GatewayTimeoutError(RefusalError):
    """The answer did not come in time; the request may have been carried out."""

    code, reason = 504, "Timeout"

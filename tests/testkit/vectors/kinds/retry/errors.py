"""Run errors and engine answers between the vectors' JSON and Refloat's values."""

from collections.abc import Mapping, Sequence

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_scheduler.core.model import ContainerResult, ErrorKind, RunError
from refloat_scheduler.core.policies.compiled import Mutation
from refloat_scheduler.core.retry.engine import Verdict

_PUBLIC_CAUSES = {"AppError": "Error"}
_INTERNAL_CAUSES = {"Error": "AppError"}


def obj(value: JsonValue) -> JsonObject:
    """An object; empty for null."""
    assert value is None or isinstance(value, Mapping)
    return value or {}


def rows(value: JsonValue) -> Sequence[JsonObject]:
    """A list of objects; empty for null."""
    assert value is None or (isinstance(value, Sequence) and not isinstance(value, str))
    return [obj(item) for item in value or ()]


def texts(value: JsonValue) -> tuple[str, ...]:
    """A list of strings; empty for null."""
    assert value is None or (isinstance(value, Sequence) and not isinstance(value, str))
    return tuple(text(item) for item in value or ())


def text(value: JsonValue) -> str:
    """A string; empty for null."""
    assert value is None or isinstance(value, str)
    return value or ""


def whole(value: JsonValue) -> int:
    """A whole number; 0 for null."""
    assert value is None or isinstance(value, int)
    return value or 0


def internal_cause(cause: str) -> str:
    """The name that Armada's log gives to a public cause."""
    return _INTERNAL_CAUSES.get(cause, cause)


def run_error(error: JsonObject) -> RunError:
    """The run error that a vector describes."""
    pod = obj(error.get("podError"))
    return RunError(
        kind=ErrorKind(text(error["reason"])) if error.get("reason") else ErrorKind.EXECUTOR_ERROR,
        category=text(error.get("category")),
        subcategory=text(error.get("subcategory")),
        message=text(pod.get("message")) or text(error.get("message")),
        cause=public_cause(text(pod.get("cause"))),
        cluster=text(pod.get("clusterId")),
        node=text(pod.get("nodeName")),
        pod=text(pod.get("podName")),
        containers=tuple(
            ContainerResult(
                name=text(c.get("name")),
                exit_code=whole(c.get("exitCode")),
                reason=text(c.get("reason")),
                message=text(c.get("message")),
                cause=public_cause(text(c.get("cause"))),
            )
            for c in rows(pod.get("containerErrors"))
        ),
    )


def public_cause(cause: str) -> str:
    """The name that Armada's events give to a cause of its log; errors without one are plain ones."""
    return _PUBLIC_CAUSES.get(cause, cause) or "Error"


def mutation_json(mutation: Mutation) -> JsonValue:
    """A rule's mutation as the vectors write it."""
    body: dict[str, JsonValue] = {}
    if mutation.avoid_same_node:
        body["avoidSameNode"] = True
    if mutation.memory_factor:
        body["memoryFactor"] = number(mutation.memory_factor)
    if mutation.memory_static is not None:
        body["memoryStatic"] = str(mutation.memory_static)
        body["memoryStaticBytes"] = mutation.memory_static.units
    return body or None


def number(value: float) -> JsonValue:
    """A number as Go's JSON writes it: without a fraction where there is none."""
    return int(value) if value.is_integer() and value < 1e21 else value


def verdict_json(verdict: Verdict) -> JsonObject:
    """The engine's answer as the vectors write it."""
    return {
        "shouldRetry": verdict.retry,
        "reason": verdict.reason,
        "decision": verdict.decision.value,
        "mutation": mutation_json(verdict.mutation) if verdict.retry else None,
    }

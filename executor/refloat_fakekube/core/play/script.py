"""Decides from a pod's script how it will end: which outcome, after how long, and what it does when told to stop.

The script is the pod annotation `fakekube.refloat.dev/script`: the name of one of `NAMED`, or JSON, either one outcome

    {"outcome": "exit", "code": 3, "message": "no such table", "afterMs": 50}

or cases, of which the first whose `when` holds decides (a case without `when` always holds):

    {"cases": [{"when": {"memoryBelow": "64Mi"}, "outcome": "oom"},
               {"when": {"nodes": ["bad-1"]}, "outcome": "exit", "code": 21},
               {"when": {"attempts": [1, 2]}, "outcome": "evicted"},
               {"outcome": "succeed"}]}

`when` may ask for `memoryBelow` (the memory limit of the container in question), `nodes`, `nodeLabels`, `attempts`
(the how manieth pod of this name the kubelets saw) and `chance` (a fraction of 1). Without a script a pod succeeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from refloat_common.core.quantity import QuantityShapeError, QuantitySuffixError, parse
from refloat_fakekube.core.objects import (
    Json,
    JsonValue,
    NotAnObjectError,
    decode,
    number,
    objects,
    section,
    text,
    texts,
)

ANNOTATION = "fakekube.refloat.dev/script"
"""Where a pod carries its script."""

OUTCOMES = (
    "succeed", "exit", "oom", "run", "deadline", "evicted", "reject", "start-error", "hook-fails", "image-pull-fails",
    "image-name-invalid", "config-error", "waiting", "disrupted", "node-dies",
)  # fmt: skip
"""Every outcome; `exit`, `oom` and `start-error` may name an init container."""

NAMED: Mapping[str, Json] = {
    "succeed": {"outcome": "succeed"},
    "exit-1": {"outcome": "exit", "code": 1},
    "oom": {"outcome": "oom"},
    "run": {"outcome": "run"},
    "deadline": {"outcome": "deadline"},
    "evicted": {"outcome": "evicted"},
    "out-of-cpu": {"outcome": "reject"},
    "start-error": {"outcome": "start-error"},
    "image-pull-fails": {"outcome": "image-pull-fails"},
    "stuck": {"outcome": "run", "onTerm": {"stuckMs": 3_600_000}},
    "disrupted": {"outcome": "disrupted"},
    "node-dies": {"outcome": "node-dies"},
}
"""Scripts that need no JSON."""

_KEYS = {
    "outcome", "when", "code", "reason", "message", "afterMs", "container", "containers", "onTerm", "disruption",
    "finalizer", "holdMs", "event", "signal",
}  # fmt: skip
_WHEN_KEYS = {"memoryBelow", "nodes", "nodeLabels", "attempts", "chance"}
_SIGTERM_CODE, _SIGKILL_CODE = 143, 137


class BadScriptError(ValueError):
    """A script that can't be read; names the place and the value."""

    def __init__(self, place: str, value: JsonValue) -> None:
        super().__init__(f"{ANNOTATION}: {place}: {value!r} is not possible")


@dataclass(frozen=True, slots=True)
class End:
    """How a container's process ends by itself: after so long, with this code, reason and termination message."""

    after_s: float
    code: int = 0
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class OnTerm:
    """What a container does when told to stop: ends with `code` after `after_s`, or holds out for `stuck_s`.

    `ignore`: it is killed with 137 when its grace is over. `stuck_s`: even then it stays (a node that can't kill).
    """

    code: int = _SIGTERM_CODE
    after_s: float = 0.01
    ignore: bool = False
    stuck_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way for a pod to end. `ends` are containers with an end of their own, by name."""

    kind: str = "succeed"
    container: str = ""
    after_s: float = 0.0
    code: int = 0
    reason: str = ""
    message: str = ""
    ends: Mapping[str, End] = field(default_factory=dict)
    on_term: OnTerm = OnTerm()  # frozen
    disruption: str = ""
    finalizer: str = ""
    hold_s: float = 0.0
    event: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a script may look at: the pod, its node, how manieth of its name it is, and a number in [0, 1)."""

    pod: Json
    node: str
    node_labels: Mapping[str, str]
    attempt: int
    fraction: float


def choose(facts: Facts) -> Outcome:
    """The outcome of a pod.

    Raises:
        BadScriptError: its script can't be read.
    """
    cases = read_script(text(facts.pod, "metadata", "annotations", ANNOTATION))
    for case in cases:
        outcome = _outcome(case, facts)
        if _holds(section(case, "when"), facts, outcome):
            return outcome
    return Outcome()


def read_script(script: str) -> Sequence[Json]:
    """The cases of a script.

    Raises:
        BadScriptError: it can't be read.
    """
    if not script:
        return ()
    if script in NAMED:
        return (NAMED[script],)
    try:
        body = decode(script.encode())
    except NotAnObjectError as error:
        raise BadScriptError("script", script) from error
    cases = objects(body, "cases") if "cases" in body else [body]
    for place, case in enumerate(cases):
        for key in [*(set(case) - _KEYS), *(set(section(case, "when")) - _WHEN_KEYS)]:
            raise BadScriptError(f"cases[{place}]", key)
        if text(case, "outcome") not in OUTCOMES:
            raise BadScriptError(f"cases[{place}].outcome", case.get("outcome"))
    return cases


def _outcome(case: Json, facts: Facts) -> Outcome:
    after_s, kind = _seconds(case, "afterMs", 0.0), text(case, "outcome")
    container = text(case, "container") or text(next(iter(objects(facts.pod, "spec", "containers")), {}), "name")
    ends = {name: _end(section(case, "containers", name), after_s) for name in section(case, "containers")}
    event = section(case, "event")
    return Outcome(
        kind=kind,
        container=container,
        after_s=after_s,
        code=_whole(case, "code", _SIGKILL_CODE if kind == "oom" else 1 if kind == "exit" else 0),
        reason=text(case, "reason"),
        message=text(case, "message"),
        ends=ends,
        on_term=_on_term(section(case, "onTerm")),
        disruption=text(case, "disruption"),
        finalizer=text(case, "finalizer"),
        hold_s=_seconds(case, "holdMs", 0.0),
        event=(text(event, "reason"), text(event, "message")),
    )


def _end(given: Json, after_s: float) -> End:
    own_s = _seconds(given, "afterMs", after_s)
    return End(own_s, _whole(given, "code", 0), text(given, "reason"), text(given, "message"))


def _on_term(given: Json) -> OnTerm:
    return OnTerm(
        _whole(given, "code", _SIGTERM_CODE),
        _seconds(given, "afterMs", 0.01),
        ignore=given.get("ignore") is True,
        stuck_s=_seconds(given, "stuckMs", 0.0),
    )


def _seconds(case: Json, key: str, default_s: float) -> float:
    value = case.get(key)
    if value is None:
        return default_s
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise BadScriptError(key, value)
    return float(value) / 1000


def _whole(case: Json, key: str, default: int) -> int:
    value = number(case, key)
    if value is None and case.get(key) is not None:
        raise BadScriptError(key, case.get(key))
    return default if value is None else value


def _holds(when: Json, facts: Facts, outcome: Outcome) -> bool:
    nodes, attempts, chance = when.get("nodes"), when.get("attempts"), when.get("chance")
    labels = texts(when, "nodeLabels")
    return (
        (not isinstance(nodes, list) or facts.node in nodes)
        and (not isinstance(attempts, list) or facts.attempt in attempts)
        and (not isinstance(chance, int | float) or facts.fraction < chance)
        and all(facts.node_labels.get(key) == value for key, value in labels.items())
        and _memory_below(text(when, "memoryBelow"), facts.pod, outcome.container)
    )


def _memory_below(wanted: str, pod: Json, container: str) -> bool:
    if not wanted:
        return True
    for field_name in ("containers", "initContainers"):
        for found in objects(pod, "spec", field_name):
            limit = text(found, "resources", "limits", "memory")
            if found.get("name") == container and limit:
                try:
                    return parse(limit).nanos < parse(wanted).nanos
                except (QuantityShapeError, QuantitySuffixError) as error:
                    raise BadScriptError("memoryBelow", wanted) from error
    return False

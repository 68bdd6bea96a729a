"""Kind `classify`: a pod, its text and its events, put to an `errorCategories` block."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from refloat_common.core.categories import (
    CategoryConfigError,
    Classification,
    CompiledCategories,
    ErrorCategories,
    Evidence,
    cause_of,
    check_categories,
    classify,
    compile_categories,
    container_errors,
    failed,
    failed_reason,
    failure_of,
    with_hint,
)
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_common.core.pods import Event, Pod
from refloat_common.core.settings import parse_settings
from refloat_common.core.taxonomy import Cause
from testkit.vectors.model import Kind, Vector

RESULTS = ("container", "pod", "detection")
LIBRARYS_WORDS = ": error parsing regexp: "


def armadas_words(error: JsonValue) -> JsonValue:
    """An error without what the library for regular expressions says about a pattern."""
    return error.partition(LIBRARYS_WORDS)[0] if isinstance(error, str) else error


def answer(question: JsonObject) -> JsonObject:
    """The categorizer's answers in the keys of Armada's."""
    config = parse_settings(ErrorCategories, msgspec.convert(question["config"], dict[str, object]))
    try:
        if config.enabled:
            check_categories(config)
    except CategoryConfigError as error:
        return {"valid": False, "error": armadas_words(error.problem)}
    return {"valid": True, "error": None, **_answers(config, question)}


def _answers(config: ErrorCategories, question: JsonObject) -> JsonObject:
    compiled = compile_categories(config)
    if question["pod"] is None:
        nothing = _result(config, classify(compiled, None))
        return {"container": nothing, "pod": nothing}
    pod = msgspec.convert(question["pod"], Pod)
    context = question["context"]
    assert isinstance(context, Mapping)
    events = msgspec.convert(context["podEvents"], list[Event] | None) or []
    own = failure_of(pod, events)
    given = msgspec.structs.replace(own, text=str(context["podErrorMessage"]))
    silent = msgspec.structs.replace(own, text="", events=())
    detection = classify(compiled, own)
    return {
        "container": _result(config, classify(compiled, silent)),
        "pod": _result(config, classify(compiled, given)),
        "detection": _result(config, detection),
        "failedReason": failed_reason(pod),
        "cause": _cause(cause_of(pod)),
        "containerErrors": [
            {
                "name": e.name,
                "exitCode": e.exit_code,
                "reason": e.reason,
                "message": e.message,
                "cause": _cause(e.cause),
            }
            for e in container_errors(pod)
        ],
        **({"report": _report(compiled, own)} if failed(pod) else {}),
    }


# What Refloat names itself (a lost node, a foreign deletion) is beyond Armada's question: only the rules are asked.
def _report(compiled: CompiledCategories, evidence: Evidence) -> JsonObject:
    named = classify(compiled, evidence)
    return {
        "afterDeletion": named.disposition == "Delete",
        "category": named.category,
        "subcategory": named.subcategory,
        "message": with_hint(failed_reason(evidence.pod), named.hint),
    }


def _cause(cause: Cause) -> str:
    """The executor's name for a cause, where events use another."""
    return "AppError" if cause is Cause.ERROR else cause.value


def _result(config: ErrorCategories, named: Classification) -> JsonObject:
    names = [category.name for category in config.categories]
    return {
        "category": named.category,
        "subcategory": named.subcategory,
        "hint": named.hint,
        "action": named.disposition.value,
        "rule": None if named.rule is None else [names.index(named.rule.category), named.rule.index],
    }


def expected(vector: Vector) -> JsonObject:
    """Armada's answer without the words of Go's library."""
    return {**vector.armada, "error": armadas_words(vector.armada["error"])}


def specification(vector: Vector, ours: JsonObject) -> Iterable[str]:
    """The demands of `spec_differs`, by the words with which it begins."""
    for beginning, check in DEMANDS.items():
        if vector.spec_differs.startswith(beginning):
            return check(vector, ours)
    return [f"nobody checks what the specification says here: {vector.spec_differs}"]


def _decided_once(vector: Vector, ours: JsonObject) -> Iterator[str]:
    detection, report = vector.armada["detection"], ours["report"]
    assert isinstance(detection, Mapping)
    wanted = {
        "afterDeletion": detection["action"] == "Delete",
        "category": detection["category"],
        "subcategory": detection["subcategory"],
        "message": with_hint(str(vector.armada["failedReason"]), str(detection["hint"])),
    }
    if report != wanted:
        yield f"report: it must be {wanted!r}, as Armada's first classification, but is {report!r}"


def _users_words_unheard(vector: Vector, ours: JsonObject) -> Iterator[str]:
    theirs, mine, report = vector.armada["detection"], ours["detection"], ours["report"]
    assert isinstance(theirs, Mapping)
    assert isinstance(mine, Mapping)
    assert isinstance(report, Mapping)
    if mine["rule"] == theirs["rule"]:
        yield "detection: decided by the rule that only the user's own words satisfy"
    if [report["category"], report["subcategory"]] != [mine["category"], mine["subcategory"]]:
        yield "report: another category than the detection's"


def _sidecar_unheard(vector: Vector, ours: JsonObject) -> Iterator[str]:
    without = answer({**vector.input, "pod": _without_sidecars(vector.input["pod"])})
    for key in RESULTS:
        if ours[key] != without[key]:
            yield f"{key}: {ours[key]!r}, but without the native sidecar {without[key]!r}"


def _without_sidecars(pod: JsonValue) -> JsonValue:
    whole = msgspec.convert(pod, Pod)
    sidecars = {
        container.name for container in whole.spec.init_containers or () if container.restart_policy == "Always"
    }
    kept = [status for status in whole.status.init_container_statuses or () if status.name not in sidecars]
    status = msgspec.structs.replace(whole.status, init_container_statuses=kept)
    cleaned: JsonObject = msgspec.to_builtins(msgspec.structs.replace(whole, status=status))
    return cleaned


DEMANDS: dict[str, Callable[[Vector, JsonObject], Iterable[str]]] = {
    "the category of a failed pod is decided once": _decided_once,
    "onPodError sees only the platform's own words": _users_words_unheard,
    "a native sidecar never speaks": _sidecar_unheard,
}

KIND = Kind("classify", answer, expected=expected, specification=specification)

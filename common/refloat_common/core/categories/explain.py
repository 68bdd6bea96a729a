"""Says for each rule before the deciding one why it did not match, by looking at the rules one by one.

Slow and plain on purpose: it shares nothing with the tables of `classify` but the patterns themselves, and a
property test holds the two against each other.
"""

from collections.abc import Sequence

from refloat_common.core.categories.classify import decide_category, tells_own_account, was_deleted_by_other
from refloat_common.core.categories.compiled import CompiledCategories, RankedRule
from refloat_common.core.categories.config import EventMatcher, ExitCodeMatcher
from refloat_common.core.categories.evidence import REASON_OOM_KILLED, Death, Evidence
from refloat_common.core.categories.result import NO_FACTS, Explanation, Facts, Rejection
from refloat_common.core.regex import Pattern, to_bytes

_SHOWN_ITEMS = 8


def explain(compiled: CompiledCategories, evidence: Evidence, facts: Facts = NO_FACTS) -> Explanation:
    """The answer of `decide_category`, and the rules that it passed over."""
    answer = decide_category(compiled, evidence, facts)
    deciding = compiled.rank_of(answer.rule)
    deleted = was_deleted_by_other(evidence, facts)
    rejected = []
    for ranked in compiled.rules[:deciding]:
        why = why_not(ranked, evidence)
        if why is None and deleted and not tells_own_account(ranked.rule, evidence.pod):
            why = "it matches, but somebody else deleted the pod, which explains that"
        if why is not None:
            rejected.append(Rejection(ranked.ref.category, ranked.ref.index, why))
    return Explanation(answer, tuple(rejected))


def why_not(ranked: RankedRule, evidence: Evidence) -> str | None:
    """Why a rule does not match, in one line; None if it does."""
    rule = ranked.rule
    if rule.on_pod_error is not None and ranked.pattern is not None:
        return _no_text(ranked.pattern, evidence.text)
    if rule.on_pod_events is not None and ranked.pattern is not None:
        return _no_event(ranked.pattern, rule.on_pod_events, evidence)
    if rule.on_conditions:
        return _no_condition(rule.on_conditions, rule.container_name, evidence)
    if not evidence.deaths:
        return "no container ended with an exit code other than 0"
    deaths = [d for d in evidence.deaths if rule.container_name in {"", d.name}]
    if not deaths:
        return f"container {rule.container_name} did not end with an exit code other than 0"
    if rule.on_exit_codes is not None:
        return _no_exit_code(rule.on_exit_codes, deaths)
    if ranked.pattern is not None:
        return _no_message(ranked.pattern, deaths)
    return "it has no matcher"


def _no_text(pattern: Pattern, text: str) -> str | None:
    if not text:
        return "there is no text about the pod"
    return None if pattern.found_in(to_bytes(text)) else "the text about the pod does not contain the pattern"


def _no_event(pattern: Pattern, matcher: EventMatcher, evidence: Evidence) -> str | None:
    of_type = [e for e in evidence.events if e.type == matcher.type]
    if not of_type:
        return f"there is no {matcher.type} event" if evidence.events else "there are no events"
    candidates = [e for e in of_type if matcher.reason in {"", e.reason}]
    if not candidates:
        return f"no {matcher.type} event has the reason {matcher.reason}"
    if any(pattern.found_in(to_bytes(e.message)) for e in candidates):
        return None
    return f"none of {len(candidates)} {matcher.type} events contains the pattern"


def _no_condition(conditions: Sequence[str], container_name: str, evidence: Evidence) -> str | None:
    reason = evidence.pod.status.reason
    if reason and reason in conditions and reason != REASON_OOM_KILLED:
        return None
    deaths = [d for d in evidence.deaths if container_name in {"", d.name}]
    if REASON_OOM_KILLED in conditions and any(d.reason == REASON_OOM_KILLED for d in deaths):
        return None
    where = f" in container {container_name}" if container_name and REASON_OOM_KILLED in conditions else ""
    return f"none of {', '.join(conditions)} holds{where}"


def _no_exit_code(matcher: ExitCodeMatcher, deaths: Sequence[Death]) -> str | None:
    listed = matcher.operator == "In"
    if any((d.exit_code in matcher.values) is listed for d in deaths):
        return None
    codes = ", ".join(str(d.exit_code) for d in deaths[:_SHOWN_ITEMS])
    values = ", ".join(map(str, matcher.values[:_SHOWN_ITEMS])) + (", …" if len(matcher.values) > _SHOWN_ITEMS else "")
    return f"exit code {codes} is {'not ' if listed else ''}among {values}"


def _no_message(pattern: Pattern, deaths: Sequence[Death]) -> str | None:
    spoken = [d for d in deaths if d.message]
    if not spoken:
        return "no failed container left a termination message"
    if any(pattern.found_in(to_bytes(d.message)) for d in spoken):
        return None
    return f"the termination message of {', '.join(d.name for d in spoken[:_SHOWN_ITEMS])} does not contain the pattern"

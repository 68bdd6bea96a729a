"""The categorizer against a reference that walks the rules one by one, on anything at all."""

from collections.abc import Mapping

import re2
from hypothesis import given
from hypothesis import strategies as st

from refloat_common.core.categories import (
    Classification,
    CompiledCategories,
    ErrorCategories,
    Evidence,
    Facts,
    classify,
    compile_categories,
    decide_category,
    explain,
    failure_of,
)
from refloat_common.core.categories.config import Rule
from refloat_common.core.pods import Event, Pod
from refloat_common.core.regex import Pattern, UnsupportedPatternError, to_bytes
from refloat_common.core.settings import SettingsError, parse_settings
from testkit.pod_makers import disruption, ended, event, pod, running

WORDS = ("disk", "net", "Disk full", "é", "a\nb", "\x00", "\ud800", "")
PATTERNS = ("disk", "(?i)DISK", "^net$", "é", r"\B", r"\bfull", "(?m)^b", ".", "", "[^a]", r"\p{letter}{3}")
NAMES = ("main", "log", "prep", "")
REASONS = ("Error", "OOMKilled", "Completed", "StartError", "")
CODES = st.sampled_from([0, 1, 2, 137, -1, 2**31 - 1])
EVENT_TYPES = ("Normal", "Warning")
EVENT_REASONS = ("", "Failed", "Killing")

matchers = st.one_of(
    st.builds(lambda found: {"onConditions": found}, st.lists(st.sampled_from(["OOMKilled", "Evicted"]), min_size=1)),
    st.builds(
        lambda operator, values: {"onExitCodes": {"operator": operator, "values": values}},
        st.sampled_from(["In", "NotIn"]),
        st.lists(CODES, min_size=1, max_size=3),
    ),
    st.builds(lambda pattern: {"onTerminationMessage": {"pattern": pattern}}, st.sampled_from(PATTERNS)),
    st.builds(lambda pattern: {"onPodError": {"pattern": pattern}}, st.sampled_from(PATTERNS)),
    st.builds(
        lambda pattern, kind, reason: {"onPodEvents": {"regexp": pattern, "type": kind, "reason": reason}},
        st.sampled_from(PATTERNS),
        st.sampled_from(EVENT_TYPES),
        st.sampled_from(EVENT_REASONS),
    ),
)
rule_blocks = st.builds(lambda matcher, name: {**matcher, "containerName": name}, matchers, st.sampled_from(NAMES))
category_blocks = st.builds(
    lambda rules, action: {"rules": rules, "action": action},
    st.lists(rule_blocks, min_size=1, max_size=4),
    st.sampled_from(["", "Delete", "Retain"]),
)
statuses = st.one_of(
    st.builds(running, st.sampled_from(NAMES)),
    st.builds(ended, st.sampled_from(NAMES), CODES, st.sampled_from(REASONS), st.sampled_from(WORDS)),
)
events = st.builds(event, st.sampled_from(EVENT_TYPES), st.sampled_from(EVENT_REASONS), st.sampled_from(WORDS))


@st.composite
def compiled_rules(draw: st.DrawFn) -> CompiledCategories:
    blocks = draw(st.lists(category_blocks, max_size=4))
    named = [{**found, "name": f"c{place}"} for place, found in enumerate(blocks)]
    return compile_categories(
        parse_settings(ErrorCategories, {"enabled": True, "categories": named, "defaultCategory": "other"})
    )


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    conditions = [disruption("DeletionByPodGC", "2026-01-15T10:00:00Z")] if draw(st.booleans()) else []
    init = draw(st.lists(statuses, max_size=2))
    has_sidecar = draw(st.booleans())
    return pod(
        *draw(st.lists(statuses, max_size=3)),
        init=init,
        sidecars=[status.name for status in init[:1] if has_sidecar],
        reason=draw(st.sampled_from(["", "Evicted", "Terminated", "OOMKilled"])),
        message=draw(st.sampled_from(WORDS)),
        conditions=conditions,
    )


def reference(compiled: CompiledCategories, evidence: Evidence) -> Classification:
    """Armada's rule walk: every rule in turn, every pattern by itself."""
    for ranked in compiled.rules:
        if _matches(ranked.rule, evidence):
            return compiled.answers[ranked.rank]
    return compiled.answers[-1]


def _matches(rule: Rule, evidence: Evidence) -> bool:
    deaths = [death for death in evidence.deaths if rule.container_name in {"", death.name}]
    if rule.on_conditions:
        oom = "OOMKilled" in rule.on_conditions and any(death.reason == "OOMKilled" for death in deaths)
        return oom or evidence.pod.status.reason in set(rule.on_conditions) - {"OOMKilled"}
    if rule.on_exit_codes is not None:
        listed = rule.on_exit_codes.operator == "In"
        return any((death.exit_code in rule.on_exit_codes.values) is listed for death in deaths)
    if rule.on_termination_message is not None:
        return any(_found(rule.on_termination_message.pattern, death.message) for death in deaths)
    if rule.on_pod_error is not None:
        return _found(rule.on_pod_error.pattern, evidence.text)
    wanted = rule.on_pod_events
    assert wanted is not None
    return any(
        found.type == wanted.type and wanted.reason in {"", found.reason} and _found(wanted.regexp, found.message)
        for found in evidence.events
    )


def _found(pattern: str, text: str) -> bool:
    raw = to_bytes(text)
    return bool(raw) and re2.search(Pattern(pattern).translated, raw) is not None


@given(compiled_rules(), pods(), st.lists(events, max_size=4))
def test_tables_and_sets_answer_as_the_rules_one_by_one(
    compiled: CompiledCategories, shown: Pod, about: list[Event]
) -> None:
    evidence = failure_of(shown, about)
    assert classify(compiled, evidence) == reference(compiled, evidence)


@given(compiled_rules(), pods(), st.lists(events, max_size=4), st.booleans())
def test_an_explanation_rejects_every_rule_before_the_deciding_one(
    compiled: CompiledCategories,
    shown: Pod,
    about: list[Event],
    deleted: bool,  # noqa: FBT001  # drawn
) -> None:
    evidence, facts = failure_of(shown, about), Facts(deleted)
    explained = explain(compiled, evidence, facts)
    answer = decide_category(compiled, evidence, facts)
    assert explained.classification == answer
    before = compiled.rules[: compiled.rank_of(answer.rule)]
    assert [(r.category, r.index) for r in explained.rejected] == [(r.ref.category, r.ref.index) for r in before]


@given(compiled_rules(), pods(), st.lists(events, max_size=3), st.sampled_from(["proxy", "main"]), CODES)
def test_a_native_sidecar_changes_nothing(
    compiled: CompiledCategories, shown: Pod, about: list[Event], name: str, exit_code: int
) -> None:
    sidecar = ended(name, exit_code, "OOMKilled", "disk full")
    regular = list(shown.status.container_statuses or ())
    before = failure_of(pod(*regular, reason=shown.status.reason), about)
    after = failure_of(pod(*regular, init=[sidecar], sidecars=[name], reason=shown.status.reason), about)
    assert classify(compiled, after) == classify(compiled, before)


@given(st.text(max_size=60), st.text(max_size=5000), st.integers(-(2**31), 2**31 - 1))
def test_any_text_under_any_pattern_is_answered(pattern: str, text: str, exit_code: int) -> None:
    try:
        compiled = compile_categories(_all_matchers(pattern))
    except SettingsError:
        return
    shown = pod(ended("main", exit_code, "Error", text), reason=text, message=text)
    evidence = failure_of(shown, [event("Warning", text, text)])
    assert explain(compiled, evidence).classification == decide_category(compiled, evidence)


def _all_matchers(pattern: str) -> ErrorCategories:
    rules: list[Mapping[str, object]] = [
        {"onTerminationMessage": {"pattern": pattern}},
        {"onPodError": {"pattern": pattern}},
        {"onPodEvents": {"regexp": pattern, "type": "Warning"}},
    ]
    return parse_settings(ErrorCategories, {"enabled": True, "categories": [{"name": "a", "rules": rules}]})


@given(st.text(alphabet=st.sampled_from(r"\pPBCQE{}[]()^-ab:?<>*+|é{L}{Lu}"), max_size=20), st.text(max_size=20))
def test_any_pattern_is_refused_or_searched(pattern: str, text: str) -> None:
    try:
        compiled = Pattern(pattern)
    except UnsupportedPatternError:
        return
    compiled.found_in(to_bytes(text))


@given(st.binary(max_size=300))
def test_any_bytes_are_searched(raw: bytes) -> None:
    for pattern in PATTERNS:
        Pattern(pattern).found_in(raw)

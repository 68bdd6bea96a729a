"""The plain way to classify: Armada's rules tried one by one with the standard library's `re`.

Written as anybody would write it first, and not slower than need be: patterns and value sets are compiled once.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from refloat_common.core.categories.config import ErrorCategories, EventMatcher, ExitCodeMatcher, Rule
from refloat_common.core.pods import Event, Pod


@dataclass(frozen=True, slots=True)
class Found:
    """Category, subcategory, hint, action, and the rule's place, None for the default."""

    category: str
    subcategory: str
    hint: str
    action: str
    rule: tuple[int, int] | None


Ended = tuple[str, int, str, str]
"""Name, exit code, reason and message of a failed container."""

Matcher = Callable[[Pod, Sequence[Ended], str, Sequence[Event]], bool]


def failed_containers(pod: Pod) -> list[Ended]:
    """Containers, then init containers, that ended with another code than 0."""
    ended = []
    for status in [*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ())]:
        end = status.state.terminated if status.state else None
        if end and end.exit_code != 0:
            ended.append((status.name, end.exit_code, end.reason, end.message))
    return ended


def matcher(rule: Rule) -> Matcher:
    """One rule as a function."""
    if rule.on_exit_codes:
        return _on_exit_codes(rule.container_name, rule.on_exit_codes)
    if rule.on_termination_message:
        return _on_message(rule.container_name, re.compile(rule.on_termination_message.pattern))
    if rule.on_pod_error:
        search = re.compile(rule.on_pod_error.pattern).search
        return lambda _pod, _ended, text, _events: bool(text and search(text))
    if rule.on_pod_events:
        return _on_event(rule.on_pod_events)
    return _on_conditions(rule.container_name, frozenset(rule.on_conditions))


def _on_exit_codes(name: str, matcher: ExitCodeMatcher) -> Matcher:
    values, listed = frozenset(matcher.values), matcher.operator == "In"

    def matches(_pod: Pod, ended: Sequence[Ended], _text: str, _events: Sequence[Event]) -> bool:
        for who, code, _, _ in ended:  # noqa: SIM110  # a generator would slow the opponent
            if (not name or who == name) and (code in values) is listed:
                return True
        return False

    return matches


def _on_message(name: str, pattern: re.Pattern[str]) -> Matcher:
    search = pattern.search

    def matches(_pod: Pod, ended: Sequence[Ended], _text: str, _events: Sequence[Event]) -> bool:
        for who, _, _, message in ended:  # noqa: SIM110  # a generator would slow the opponent
            if message and (not name or who == name) and search(message):
                return True
        return False

    return matches


def _on_event(matcher: EventMatcher) -> Matcher:
    search, kind, reason = re.compile(matcher.regexp).search, matcher.type, matcher.reason

    def matches(_pod: Pod, _ended: Sequence[Ended], _text: str, events: Sequence[Event]) -> bool:
        for event in events:
            if event.type != kind or (reason and event.reason != reason):
                continue
            if event.message and search(event.message):
                return True
        return False

    return matches


def _on_conditions(name: str, conditions: frozenset[str]) -> Matcher:
    pod_reasons, oom = conditions - {"OOMKilled"}, "OOMKilled" in conditions

    def matches(pod: Pod, ended: Sequence[Ended], _text: str, _events: Sequence[Event]) -> bool:
        if pod.status.reason in pod_reasons:
            return True
        if oom:
            for who, _, why, _ in ended:
                if why == "OOMKilled" and (not name or who == name):
                    return True
        return False

    return matches


class OneByOne:
    """The rules of a block, in order."""

    def __init__(self, config: ErrorCategories) -> None:
        self._rules = [
            (matcher(rule), Found(category.name, rule.subcategory, rule.hint, category.action or "Retain", (c, r)))
            for c, category in enumerate(config.categories)
            for r, rule in enumerate(category.rules)
        ]
        self._default = Found(config.default_category, config.default_subcategory, "", "Retain", None)

    def classify(self, pod: Pod, text: str, events: Sequence[Event]) -> Found:
        """The first rule that matches."""
        ended = failed_containers(pod)
        for matches, found in self._rules:
            if matches(pod, ended, text, events):
                return found
        return self._default

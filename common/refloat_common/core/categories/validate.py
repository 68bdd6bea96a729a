"""Decides whether an `errorCategories` block makes sense. The order of the checks and their words are Armada's.

Source: `armada/internal/executor/categorizer`, whose first error wins. Lengths are UTF-8 bytes.
"""

from collections.abc import Sequence

from refloat_common.core.categories.config import Category, ErrorCategories, EventMatcher, ExitCodeMatcher, Rule
from refloat_common.core.categories.evidence import REASON_DEADLINE_EXCEEDED, REASON_EVICTED, REASON_OOM_KILLED
from refloat_common.core.regex import Pattern, UnsupportedPatternError
from refloat_common.core.settings import SettingsError, go_quote
from refloat_common.core.taxonomy import MAX_NAME_BYTES, Disposition

ROOT = "application.errorCategories"
"""Where the block stands in an executor's file."""

Patterns = dict[tuple[str, int], Pattern]
"""The pattern of each rule that has one, by category name and index."""

_CONDITIONS = (REASON_OOM_KILLED, REASON_EVICTED, REASON_DEADLINE_EXCEEDED)
_MATCHERS = "onConditions, onExitCodes, onTerminationMessage, onPodError, or onPodEvents"


class CategoryConfigError(SettingsError):
    """A block that cannot be used: `path` leads to the setting, `problem` is Armada's text."""


def check_categories(config: ErrorCategories) -> Patterns:
    """Checks the whole block, enabled or not, and returns its compiled patterns.

    Raises:
        CategoryConfigError: the first finding.
    """
    for key, value in (
        ("defaultCategory", config.default_category),
        ("defaultSubcategory", config.default_subcategory),
    ):
        if _too_long(value):
            raise CategoryConfigError(f"{ROOT}.{key}", f"{key} {_exceeds(value)}")
    patterns: Patterns = {}
    seen: set[str] = set()
    for position, category in enumerate(config.categories):
        path = f"{ROOT}.categories[{position}]"
        _check_category(category, path, seen)
        seen.add(category.name)
        for index, rule in enumerate(category.rules):
            where = f"category {go_quote(category.name)} rule {index}: "
            pattern = _check_rule(rule, f"{path}.rules[{index}]", where)
            if pattern is not None:
                patterns[category.name, index] = pattern
    return patterns


def _too_long(name: str) -> bool:
    return len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES


def _exceeds(name: str) -> str:
    return f"{go_quote(name)} exceeds maximum length {MAX_NAME_BYTES}"


def _check_category(category: Category, path: str, seen: set[str]) -> None:
    quoted = go_quote(category.name)
    if not category.name:
        raise CategoryConfigError(f"{path}.name", "category config must have a name")
    if _too_long(category.name):
        raise CategoryConfigError(f"{path}.name", f"category name {_exceeds(category.name)}")
    if category.name in seen:
        raise CategoryConfigError(f"{path}.name", f"duplicate category name {quoted}")
    if not category.rules:
        raise CategoryConfigError(f"{path}.rules", f"category {quoted} must have at least one rule")
    if category.action not in {"", *Disposition}:
        problem = f'category {quoted}: invalid action {go_quote(category.action)}: must be "Delete" or "Retain"'
        raise CategoryConfigError(f"{path}.action", problem)


def _check_rule(rule: Rule, path: str, where: str) -> Pattern | None:
    """Checks one rule and returns its compiled pattern, if it has one."""
    if _too_long(rule.subcategory):
        raise CategoryConfigError(f"{path}.subcategory", f"{where}subcategory {_exceeds(rule.subcategory)}")
    written = sum((
        bool(rule.on_conditions),
        rule.on_exit_codes is not None,
        rule.on_termination_message is not None,
        rule.on_pod_error is not None,
        rule.on_pod_events is not None,
    ))  # fmt: skip
    if written != 1:
        number = "one" if written == 0 else "only one"
        raise CategoryConfigError(path, f"{where}rule must specify {number} of {_MATCHERS}")
    _check_conditions(rule.on_conditions, path, where)
    if rule.on_exit_codes is not None:
        _check_exit_codes(rule.on_exit_codes, f"{path}.onExitCodes", where)
    if rule.on_termination_message is not None:
        text = rule.on_termination_message.pattern
        return _pattern(text, f"{path}.onTerminationMessage.pattern", f"{where}invalid onTerminationMessage regex")
    if rule.on_pod_error is not None:
        text = rule.on_pod_error.pattern
        return _pattern(text, f"{path}.onPodError.pattern", f"{where}invalid onPodError regex")
    if rule.on_pod_events is not None:
        return _check_events(rule.on_pod_events, f"{path}.onPodEvents", where)
    return None


def _check_conditions(conditions: Sequence[str], path: str, where: str) -> None:
    for place, condition in enumerate(conditions):
        if condition not in _CONDITIONS:
            problem = f"{where}unknown condition {go_quote(condition)}, valid values: {', '.join(_CONDITIONS)}"
            raise CategoryConfigError(f"{path}.onConditions[{place}]", problem)


def _check_exit_codes(matcher: ExitCodeMatcher, path: str, where: str) -> None:
    if matcher.operator not in {"In", "NotIn"}:
        problem = f'{where}invalid exit code operator {go_quote(matcher.operator)}, must be "In" or "NotIn"'
        raise CategoryConfigError(f"{path}.operator", problem)
    if not matcher.values:
        raise CategoryConfigError(f"{path}.values", f"{where}exit code matcher requires at least one value")


def _check_events(matcher: EventMatcher, path: str, where: str) -> Pattern:
    pattern = _pattern(matcher.regexp, f"{path}.regexp", f"{where}invalid onPodEvents regexp")
    if matcher.type not in {"Normal", "Warning"}:
        problem = f'{where}invalid onPodEvents type {go_quote(matcher.type)}, must be "Normal" or "Warning"'
        raise CategoryConfigError(f"{path}.type", problem)
    return pattern


def _pattern(source: str, path: str, where: str) -> Pattern:
    try:
        return Pattern(source)
    except UnsupportedPatternError as error:
        raise CategoryConfigError(path, f"{where} {go_quote(source)}: error parsing regexp: {error}") from None

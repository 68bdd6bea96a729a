"""Rules and answers for tests of the categorizer."""

from collections.abc import Mapping

from refloat_common.core.categories import (
    Classification,
    CompiledCategories,
    ErrorCategories,
    RuleRef,
    compile_categories,
)
from refloat_common.core.settings import parse_settings
from refloat_common.core.taxonomy import Disposition

Block = Mapping[str, object]

OOM: Block = {"onConditions": ["OOMKilled"]}


def exit_in(*values: int, **more: object) -> Block:
    """A rule on listed exit codes."""
    return {"onExitCodes": {"operator": "In", "values": list(values)}, **more}


def exit_not_in(*values: int, **more: object) -> Block:
    """A rule on exit codes that are not listed."""
    return {"onExitCodes": {"operator": "NotIn", "values": list(values)}, **more}


def says(pattern: str, **more: object) -> Block:
    """A rule on a termination message."""
    return {"onTerminationMessage": {"pattern": pattern}, **more}


def pod_says(pattern: str, **more: object) -> Block:
    """A rule on the text about the pod."""
    return {"onPodError": {"pattern": pattern}, **more}


def event_says(regexp: str, kind: str = "Warning", reason: str = "", **more: object) -> Block:
    """A rule on an event."""
    return {"onPodEvents": {"regexp": regexp, "type": kind, "reason": reason}, **more}


def category(name: str, *rules: Block, action: str = "") -> Block:
    """One category."""
    return {"name": name, "action": action, "rules": list(rules)}


def block(*categories: Block, **more: object) -> ErrorCategories:
    """A block that is enabled."""
    return parse_settings(ErrorCategories, {"enabled": True, "categories": list(categories), **more})


def rules(*categories: Block, **more: object) -> CompiledCategories:
    """The same, compiled."""
    return compile_categories(block(*categories, **more))


def by_rule(
    name: str, index: int = 0, subcategory: str = "", hint: str = "", disposition: Disposition = Disposition.RETAIN
) -> Classification:
    """The answer of a rule."""
    return Classification(name, subcategory, hint, disposition, RuleRef(name, index))

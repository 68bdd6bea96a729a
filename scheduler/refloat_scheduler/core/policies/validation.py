"""Which policies may be stored, and which a stored document may be served as.

Two judges with Armada's texts. `write_error` is asked by the API before a policy is stored. `compile_error` is asked
at every refresh of the cache, because documents may come from elsewhere; it checks in another order, is silent on the
form of names, and, other than Armada's, rejects the memory bumps that the write path rejects (specification: *Invalid-
policy skips*). A factor must be a finite number above 1: NaN passes no comparison and infinity fits no node.
"""

import math
import re

from refloat_common.core import quantity
from refloat_common.core.settings import go_quote
from refloat_scheduler.core.policies.document import Action, MemoryBump, PolicyBody, RuleDocument

MAX_NAME_BYTES = 63
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def write_error(policy: PolicyBody | None) -> str | None:
    """Why a policy may not be stored; None if it may. The first fault counts, in the order of the API's checks."""
    if policy is None:
        return "retry policy must not be nil"
    return name_error(policy.name) or _rules_error(policy) or _default_error(policy)


def name_error(name: str) -> str | None:
    """Why a policy may not have this name; None if it may. Names are lower-case RFC 1123 labels."""
    if not name:
        return "retry policy name must not be empty"
    if len(name.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
        return f"retry policy name {go_quote(name)} must be at most {MAX_NAME_BYTES} characters"
    if not _LABEL.fullmatch(name):
        return (
            f"retry policy name {go_quote(name)} is invalid: must consist of lowercase alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character"
        )
    return None


def _rules_error(policy: PolicyBody) -> str | None:
    for index, rule in enumerate(policy.rules):
        error = _rule_error(rule)
        if error:
            return f"retry policy {go_quote(policy.name)} rule {index}: {error}"
    return None


def _rule_error(rule: RuleDocument | None) -> str | None:
    if rule is None:
        return "rule must not be nil"
    if rule.action is Action.UNSPECIFIED:
        return "action must be Fail or Retry"
    if not rule.on_category:
        return "on_category must be set"
    error = bump_error(rule.memory) if rule.memory else None
    return f"mutate.resources.memory: {error}" if error else None


def _default_error(policy: PolicyBody) -> str | None:
    if policy.default_action is Action.UNSPECIFIED:
        return f"retry policy {go_quote(policy.name)} must set a default action (Fail or Retry)"
    return None


def bump_error(bump: MemoryBump) -> str | None:
    """What is wrong with a memory bump; None if nothing is."""
    if bump.static and bump.factor:
        return "set exactly one of static and factor, not both"
    if not bump.static and not bump.factor:
        return "set exactly one of static and factor"
    return _static_error(bump.static) if bump.static else _factor_error(bump.factor)


def _static_error(static: str) -> str | None:
    error = static_syntax_error(static)
    if error:
        return error
    return None if quantity.parse(static).nanos > 0 else f"static quantity {go_quote(static)} must be positive"


def static_syntax_error(static: str) -> str | None:
    """Why a text is no quantity; None if it is one."""
    try:
        quantity.parse(static)
    except ValueError as error:
        return f"invalid static quantity {go_quote(static)}: {error}"
    return None


def _factor_error(factor: float) -> str | None:
    if not factor > 1.0:
        return f"factor {_number(factor)} must be greater than 1.0"
    return None if math.isfinite(factor) else f"factor {_number(factor)} must be a finite number"


def compile_error(policy: PolicyBody | None) -> str | None:
    """Why a stored policy can't be served; None if it can."""
    if policy is None:
        return "retry policy is nil"
    if policy.default_action is Action.UNSPECIFIED:
        return f'default_action: unknown action "{policy.default_action.enum_name}"'
    for index, rule in enumerate(policy.rules):
        error = _conversion_error(rule)
        if error:
            return f"rule {index}: {error}"
    if not policy.name:
        return f"policy {go_quote(policy.name)}: policy name must not be empty"
    for index, rule in enumerate(policy.rules):
        if rule is not None and not rule.on_category:
            return f"policy {go_quote(policy.name)}: rule {index}: OnCategory must be set"
    return None


def _conversion_error(rule: RuleDocument | None) -> str | None:
    if rule is None:
        return "rule is nil"
    if rule.action is Action.UNSPECIFIED:
        return f'action: unknown action "{rule.action.enum_name}"'
    if rule.memory is None:
        return None
    error = (static_syntax_error(rule.memory.static) if rule.memory.static else None) or bump_error(rule.memory)
    return f"mutate.resources.memory: {error}" if error else None


def _number(value: float) -> str:
    """A number as Go prints it in these texts."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)  # noqa: PLR2004  Go's %v

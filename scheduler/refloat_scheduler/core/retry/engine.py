"""The retry engine: whether a policy grants a failed run another attempt.

The order of the checks is Armada's and part of the contract: without an error nothing is decided; then the kill
switch; then the global cap; then the first matching rule or the default action; then the policy's own limit. So a
Fail rule on a job that has used up the global cap is counted as the cap's verdict, not as the rule's.

Budgets count retries. `failures` counts genuine failures including the one being judged, so `failures - 1` retries
have been used (specification: *Retry budgets*).
"""

import msgspec

from refloat_scheduler.core.explanation import Decision, RuleLook
from refloat_scheduler.core.model import RunError
from refloat_scheduler.core.policies.compiled import NOTHING, CompiledPolicy, Mutation, Rule


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What the engine says. `rule_index` is None where the default action spoke or nothing was looked at.

    A msgspec struct, because a decision costs a microsecond and a frozen dataclass would double that.
    """

    retry: bool
    decision: Decision
    reason: str
    rule_index: int | None = None
    mutation: Mutation = NOTHING


_DEFAULT = "no rule matched, using default action"
_NO_ERROR = Verdict(retry=False, decision=Decision.NO_ERROR, reason="no error information available")
_DISABLED = Verdict(
    retry=False,
    decision=Decision.FAIL_GLOBAL_LIMIT,
    reason="global max retries is 0, retries disabled",
)
_FAIL_BY_DEFAULT = Verdict(retry=False, decision=Decision.FAIL_DEFAULT, reason=_DEFAULT)
_RETRY_BY_DEFAULT = Verdict(retry=True, decision=Decision.RETRY, reason=_DEFAULT)


def retries_used(failures: int) -> int:
    """How many retries a history with this many genuine failures has used, the last failure not yet answered."""
    return max(failures - 1, 0)


def decide(policy: CompiledPolicy, error: RunError | None, failures: int, global_max_retries: int) -> Verdict:
    """The engine's verdict over a failure. `failures` includes it."""
    if error is None:
        return _NO_ERROR
    if global_max_retries == 0:
        return _DISABLED
    used = failures - 1 if failures > 1 else 0
    if used >= global_max_retries:
        return _refused(Decision.FAIL_GLOBAL_LIMIT, f"global max retries exceeded ({used}/{global_max_retries})", None)
    index = policy.first_match(error.category, error.subcategory)
    if not (policy.default_retry if index is None else policy.rules[index].retry):
        return _FAIL_BY_DEFAULT if index is None else _refused(Decision.FAIL_RULE, "matched rule: Fail", index)
    if used >= policy.retry_limit:
        reason = f"policy retry limit exceeded ({used}/{policy.retry_limit})"
        return _refused(Decision.FAIL_POLICY_LIMIT, reason, index)
    if index is None:
        return _RETRY_BY_DEFAULT
    return Verdict(
        retry=True,
        decision=Decision.RETRY,
        reason="matched rule: Retry",
        rule_index=index,
        mutation=policy.rules[index].mutation,
    )


def _refused(decision: Decision, reason: str, index: int | None) -> Verdict:
    return Verdict(retry=False, decision=decision, reason=reason, rule_index=index)


def rules_looked_at(policy: CompiledPolicy, error: RunError) -> tuple[RuleLook, ...]:
    """Every rule up to the one that matched, with the reason why each earlier one did not; all if none matched."""
    looks: list[RuleLook] = []
    for index, rule in enumerate(policy.rules):
        why = _mismatch(rule, error)
        action = "Retry" if rule.retry else "Fail"
        looks.append(RuleLook(index, action, rule.on_category, rule.on_subcategory, why))
        if not why:
            break
    return tuple(looks)


def _mismatch(rule: Rule, error: RunError) -> str:
    if rule.on_category != error.category:
        return f'category is "{error.category}"'
    if rule.on_subcategory and rule.on_subcategory != error.subcategory:
        return f'subcategory is "{error.subcategory}"'
    return ""

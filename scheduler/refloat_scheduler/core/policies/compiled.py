"""A policy as the engine runs it: rules found by one look-up, however many there are."""

import hashlib
import json
from dataclasses import dataclass

from refloat_common.core import quantity
from refloat_common.core.quantity import Quantity
from refloat_scheduler.core.policies.document import Action, PolicyBody, RuleDocument, encode
from refloat_scheduler.core.policies.validation import compile_error


class InvalidPolicyError(ValueError):
    """A stored policy can't be served; its queues fall back to legacy behaviour."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f'invalid retry policy "{name}": {why}')
        self.name = name
        self.why = why


@dataclass(frozen=True, slots=True)
class Mutation:
    """What a Retry rule changes. At most one of the two ways to grow the memory is set."""

    avoid_same_node: bool = False
    memory_factor: float = 0.0
    memory_static: Quantity | None = None

    @property
    def grows(self) -> bool:
        """Whether the memory grows."""
        return bool(self.memory_factor) or self.memory_static is not None

    def __bool__(self) -> bool:
        return self.avoid_same_node or self.grows


NOTHING = Mutation()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: Retry or Fail, for a category and, unless that is empty, a subcategory."""

    retry: bool
    on_category: str
    on_subcategory: str
    mutation: Mutation = NOTHING


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A policy that is valid. `content_hash` names what it says, whatever it is called or how it was written.

    `by_pair` and `by_category` hold the index of the first rule for a category with exactly this subcategory, and
    for a category with any; the smaller of the two decides.
    """

    name: str
    retry_limit: int
    default_retry: bool
    rules: tuple[Rule, ...]
    content_hash: str
    by_pair: dict[tuple[str, str], int]
    by_category: dict[str, int]

    def first_match(self, category: str, subcategory: str) -> int | None:
        """The index of the first rule that matches, byte for byte; None if none does."""
        exact = self.by_pair.get((category, subcategory))
        general = self.by_category.get(category)
        if exact is None or (general is not None and general < exact):
            return general
        return exact


def compile_policy(policy: PolicyBody | None) -> CompiledPolicy:
    """The policy as the engine runs it.

    Raises:
        InvalidPolicyError: it must not be served.
    """
    why = compile_error(policy)
    if why or policy is None:
        raise InvalidPolicyError(policy.name if policy else "", why or "")
    rules = tuple(_rule(rule) for rule in policy.rules if rule is not None)
    by_pair: dict[tuple[str, str], int] = {}
    by_category: dict[str, int] = {}
    for index, rule in enumerate(rules):
        if rule.on_subcategory:
            by_pair.setdefault((rule.on_category, rule.on_subcategory), index)
        else:
            by_category.setdefault(rule.on_category, index)
    return CompiledPolicy(
        name=policy.name,
        retry_limit=policy.retry_limit,
        default_retry=policy.default_action is Action.RETRY,
        rules=rules,
        content_hash=content_hash(policy),
        by_pair=by_pair,
        by_category=by_category,
    )


def content_hash(policy: PolicyBody) -> str:
    """SHA-256 over the canonical JSON form, as 64 hexadecimal digits."""
    text = json.dumps(encode(policy), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _rule(rule: RuleDocument) -> Rule:
    affinity = rule.mutate.affinity if rule.mutate else None
    memory = rule.memory
    mutation = Mutation(
        avoid_same_node=bool(affinity and affinity.avoid_same_node),
        memory_factor=memory.factor if memory else 0.0,
        memory_static=quantity.parse(memory.static) if memory and memory.static else None,
    )
    return Rule(rule.action is Action.RETRY, rule.on_category, rule.on_subcategory, mutation)

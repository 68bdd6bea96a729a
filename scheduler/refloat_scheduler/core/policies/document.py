"""The document of a retry policy: what its JSON form says, before anybody judges it.

Decoding follows the JSON of Armada's API: camelCase keys in any case, null for "not given", unknown keys ignored,
and an action given as a word in any case, as its full enum name, or as its number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from refloat_common.core.jsontypes import JsonObject, JsonValue

MAX_RETRY_LIMIT = (1 << 32) - 1
"""`retryLimit` is an unsigned number of 32 bits in Armada's API."""


class Action(Enum):
    """What a rule, or a policy by default, says; `UNSPECIFIED` is what a missing action decodes to."""

    UNSPECIFIED = "Unspecified"
    FAIL = "Fail"
    RETRY = "Retry"

    @property
    def enum_name(self) -> str:
        """The full name in Armada's API, as its error texts print it."""
        return f"RETRY_ACTION_{self.name}"


_ACTIONS_BY_WORD = {action.value.lower(): action for action in Action}
_ACTIONS_BY_NAME = {action.enum_name: action for action in Action}
_ACTIONS_BY_NUMBER = (Action.UNSPECIFIED, Action.FAIL, Action.RETRY)


@dataclass(frozen=True, slots=True)
class MemoryBump:
    """`mutate.resources.memory`: an amount to add, or a factor; empty and 0 mean "not given"."""

    static: str = ""
    factor: float = 0.0


@dataclass(frozen=True, slots=True)
class AffinityMutation:
    """`mutate.affinity`."""

    avoid_same_node: bool = False


@dataclass(frozen=True, slots=True)
class ResourceMutation:
    """`mutate.resources`."""

    memory: MemoryBump | None = None


@dataclass(frozen=True, slots=True)
class MutationDocument:
    """`mutate`: None where a part was not given at all."""

    affinity: AffinityMutation | None = None
    resources: ResourceMutation | None = None


@dataclass(frozen=True, slots=True)
class RuleDocument:
    """One of `rules`."""

    action: Action = Action.UNSPECIFIED
    on_category: str = ""
    on_subcategory: str = ""
    mutate: MutationDocument | None = None

    @property
    def memory(self) -> MemoryBump | None:
        """The rule's memory bump, if it has one."""
        resources = self.mutate.resources if self.mutate else None
        return resources.memory if resources else None


@dataclass(frozen=True, slots=True)
class PolicyBody:
    """A whole policy. A rule is None where the document holds null."""

    name: str = ""
    retry_limit: int = 0
    default_action: Action = Action.UNSPECIFIED
    rules: tuple[RuleDocument | None, ...] = ()


class PolicyDecodeError(ValueError):
    """A value has the wrong type. `path` leads to it (`rules[0].action`)."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'retry policy'}: {problem}")
        self.path = path
        self.problem = problem


def decode(value: JsonValue) -> PolicyBody | None:
    """The policy that a JSON value stands for; None for null.

    Raises:
        PolicyDecodeError: a value has the wrong type.
    """
    if value is None:
        return None
    fields = _Fields(value, "")
    return PolicyBody(
        name=fields.text("name"),
        retry_limit=_limit(fields.get("retryLimit")),
        default_action=_action(fields.get("defaultAction"), "defaultAction"),
        rules=tuple(_rule(item, f"rules[{i}]") for i, item in enumerate(fields.items("rules"))),
    )


def encode(policy: PolicyBody) -> JsonObject:
    """The canonical JSON form: zero values left out, actions as words, keys in the order of the API's fields."""
    body: dict[str, JsonValue] = {}
    _put(body, "name", policy.name)
    _put(body, "retryLimit", policy.retry_limit)
    _put(body, "defaultAction", _word(policy.default_action))
    _put(body, "rules", [_rule_body(rule) if rule else None for rule in policy.rules])
    return body


def _rule_body(rule: RuleDocument) -> JsonObject:
    body: dict[str, JsonValue] = {}
    _put(body, "action", _word(rule.action))
    _put(body, "onCategory", rule.on_category)
    _put(body, "onSubcategory", rule.on_subcategory)
    if rule.mutate:
        body["mutate"] = _mutation_body(rule.mutate)
    return body


def _mutation_body(mutation: MutationDocument) -> JsonObject:
    body: dict[str, JsonValue] = {}
    if mutation.affinity:
        body["affinity"] = {"avoidSameNode": True} if mutation.affinity.avoid_same_node else {}
    if mutation.resources:
        memory: dict[str, JsonValue] = {}
        if mutation.resources.memory:
            _put(memory, "static", mutation.resources.memory.static)
            _put(memory, "factor", mutation.resources.memory.factor)
        body["resources"] = {"memory": memory} if mutation.resources.memory else {}
    return body


def _put(body: dict[str, JsonValue], key: str, value: JsonValue) -> None:
    """Set a key, unless the value is the zero of its type."""
    if value:
        body[key] = value


def _word(action: Action) -> str:
    return "" if action is Action.UNSPECIFIED else action.value


class _Fields:
    """One JSON object, read by key in any case; of two spellings the last one counts."""

    def __init__(self, value: JsonValue, path: str) -> None:
        if not isinstance(value, Mapping):
            raise PolicyDecodeError(path, f"expected an object, not {_kind(value)}")
        self._values = {key.casefold(): item for key, item in value.items()}
        self._path = path

    def path(self, key: str) -> str:
        """The path of one of this object's keys."""
        return f"{self._path}.{key}" if self._path else key

    def get(self, key: str) -> JsonValue:
        """A value, or None if it is missing or null."""
        return self._values.get(key.casefold())

    def text(self, key: str) -> str:
        """A string; empty if missing or null."""
        value = self.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise PolicyDecodeError(self.path(key), f"expected a string, not {_kind(value)}")
        return value

    def items(self, key: str) -> Sequence[JsonValue]:
        """A list; empty if missing or null."""
        value = self.get(key)
        if value is None:
            return ()
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise PolicyDecodeError(self.path(key), f"expected a list, not {_kind(value)}")
        return value

    def child(self, key: str) -> "_Fields | None":
        """An object; None if missing or null."""
        value = self.get(key)
        return None if value is None else _Fields(value, self.path(key))

    def flag(self, key: str) -> bool:
        """A boolean; false if missing or null."""
        value = self.get(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise PolicyDecodeError(self.path(key), f"expected true or false, not {_kind(value)}")
        return value

    def number(self, key: str) -> float:
        """A number; 0 if missing or null."""
        value = self.get(key)
        if value is None:
            return 0.0
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise PolicyDecodeError(self.path(key), f"expected a number, not {_kind(value)}")
        try:
            return float(value)
        except OverflowError:
            raise PolicyDecodeError(self.path(key), "the number is too large") from None


def _rule(value: JsonValue, path: str) -> RuleDocument | None:
    if value is None:
        return None
    fields = _Fields(value, path)
    return RuleDocument(
        action=_action(fields.get("action"), f"{path}.action"),
        on_category=fields.text("onCategory"),
        on_subcategory=fields.text("onSubcategory"),
        mutate=_mutation(fields.child("mutate")),
    )


def _mutation(fields: _Fields | None) -> MutationDocument | None:
    if fields is None:
        return None
    affinity, resources = fields.child("affinity"), fields.child("resources")
    memory = resources.child("memory") if resources else None
    bump = MemoryBump(memory.text("static"), memory.number("factor")) if memory else None
    return MutationDocument(
        affinity=AffinityMutation(affinity.flag("avoidSameNode")) if affinity else None,
        resources=ResourceMutation(bump) if resources else None,
    )


def _action(value: JsonValue, path: str) -> Action:
    """An action in any of its spellings."""
    if value is None:
        return Action.UNSPECIFIED
    if isinstance(value, str):
        action = _ACTIONS_BY_NAME.get(value) or (_ACTIONS_BY_WORD.get(value.lower()) if value.isascii() else None)
        if action is None:
            raise PolicyDecodeError(path, f'no RetryAction of name "{value}"')
        return action
    if isinstance(value, int) and not isinstance(value, bool):
        if 0 <= value < len(_ACTIONS_BY_NUMBER):
            return _ACTIONS_BY_NUMBER[value]
        raise PolicyDecodeError(path, f"no RetryAction of value {value}")
    raise PolicyDecodeError(path, f"expected Fail or Retry, not {_kind(value)}")


def _limit(value: JsonValue) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise PolicyDecodeError("retryLimit", f"expected a whole number, not {_kind(value)}")
    if not 0 <= value <= MAX_RETRY_LIMIT:
        raise PolicyDecodeError("retryLimit", f"{value} is not between 0 and {MAX_RETRY_LIMIT}")
    return value


def _kind(value: JsonValue) -> str:
    """A value's kind, for a reader."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, Sequence) else str(value).lower()

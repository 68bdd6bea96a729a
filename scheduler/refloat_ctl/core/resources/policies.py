"""Decides what a retry policy file says: the specification's file format, nothing unknown, nothing guessed.

Whether the policy makes sense is the server's to say, as in Armada; here only the form is judged.
"""

from collections.abc import Mapping
from typing import Final

from refloat_common.core.jsontypes import JsonValue
from refloat_ctl.core.resources.envelope import ENVELOPE, RETRY_POLICY, check_head, head_of
from refloat_ctl.core.resources.fields import FieldError, list_of, spelt
from refloat_scheduler.core.policies.document import PolicyBody, PolicyDecodeError, decode

_POLICY: Final = (*ENVELOPE, "name", "retryLimit", "defaultAction", "rules")
_RULE: Final = ("action", "onCategory", "onSubcategory", "mutate")
_BLOCKS: Final[Mapping[str, tuple[str, ...]]] = {
    "mutate": ("affinity", "resources"),
    "mutate.affinity": ("avoidSameNode",),
    "mutate.resources": ("memory",),
    "mutate.resources.memory": ("factor", "static"),
}
"""The blocks inside a rule, from its own keys on, and what each may hold."""


def read_policy(value: JsonValue) -> PolicyBody:
    """The policy of a file's value.

    Raises:
        FieldError: it is no retry policy of the specification's form.
    """
    head = head_of(value)
    if value is not None:
        known = spelt(value, _POLICY)
        for i, rule in enumerate(list_of(known, "rules")):
            if rule is not None:
                _check_block(rule, "", f"rules[{i}]")
    try:
        policy = decode(value)
    except PolicyDecodeError as error:
        raise FieldError(error.path, error.problem) from None
    check_head(head, RETRY_POLICY)
    return policy or PolicyBody()


def _check_block(value: JsonValue, block: str, path: str) -> None:
    keys = spelt(value, _BLOCKS.get(block, _RULE), path)
    for key, item in keys.items():
        inner = f"{block}.{key}" if block else key
        if inner in _BLOCKS and item is not None:
            _check_block(item, inner, f"{path}.{key}")

"""Kind `policy.json`: a policy as the API decodes it: whether it may be stored, and whether it may be served."""

import json
from collections.abc import Iterable
from dataclasses import replace

from refloat_common.core.jsontypes import JsonObject
from refloat_ctl.core.text.writing import write_yaml
from refloat_scheduler.core.policies.document import (
    MemoryBump,
    MutationDocument,
    PolicyBody,
    PolicyDecodeError,
    ResourceMutation,
    decode,
    encode,
)
from refloat_scheduler.core.policies.validation import compile_error, write_error
from testkit.vectors.kinds.retry.errors import obj, text
from testkit.vectors.model import Kind, Vector


def answer(question: JsonObject) -> JsonObject:
    """The errors of each stage, and the policy as it is written again, in JSON and in YAML."""
    try:
        policy = with_factors(decode(question["policy"]), obj(question.get("factor")))
    except PolicyDecodeError as error:
        return {"decodeError": error.path.rpartition(".")[2].partition("[")[0].casefold()}
    errors = {"decodeError": None, "writeError": write_error(policy), "compileError": compile_error(policy)}
    if policy is None or question.get("factor"):
        return errors
    body = encode(policy)
    return {**errors, "json": json.loads(json.dumps(body)), "yaml": write_yaml(body)}


def with_factors(policy: PolicyBody | None, factors: JsonObject) -> PolicyBody | None:
    """The policy with numbers in it that JSON can't carry: rule index to text."""
    for index, value in factors.items():
        assert policy is not None
        rule = policy.rules[int(index)]
        assert rule is not None
        bump = MemoryBump(rule.memory.static if rule.memory else "", float(text(value)))
        affinity = rule.mutate.affinity if rule.mutate else None
        changed = replace(rule, mutate=MutationDocument(affinity, ResourceMutation(bump)))
        rules = (*policy.rules[: int(index)], changed, *policy.rules[int(index) + 1 :])
        policy = replace(policy, rules=rules)
    return policy


def expected(vector: Vector) -> JsonObject:
    """Armada's answer, but of a decoding error only the field; what Armada wrongly lets pass is asked below."""
    error = vector.armada.get("decodeError")
    if error:
        field = text(error).partition("field ")[2].partition(" ")[0].rpartition(".")[2].casefold()
        return {"decodeError": field or _field_of_unknown_action(vector)}
    restated = {key: value for key, value in vector.armada.items() if key != "jsonError"}
    if vector.armada_fault:
        ours = answer(vector.input)
        return {**restated, "writeError": ours["writeError"], "compileError": ours["compileError"]}
    return restated


def _field_of_unknown_action(vector: Vector) -> str:
    """An error about a word says no field: it is about the only one that takes words, or about the whole body."""
    policy = vector.input["policy"]
    if not isinstance(policy, dict):
        return ""
    return "action" if policy.get("rules") else "defaultaction"


def specification(vector: Vector, given: JsonObject) -> Iterable[str]:
    """What the write path refuses is not served either."""
    if "compileError" in vector.differs_in and given["compileError"] is None:
        yield "the policy would be served"


KIND = Kind(
    "policy.json",
    answer,
    expected=expected,
    specification=specification,
)

"""Which policies may be stored, and which are served: every row of Armada's validation tests, and what is added."""

import math

import pytest

from refloat_common.core.jsontypes import JsonValue
from refloat_scheduler.core.policies.document import Action as Act
from refloat_scheduler.core.policies.document import (
    MemoryBump,
    MutationDocument,
    PolicyBody,
    PolicyDecodeError,
    ResourceMutation,
    RuleDocument,
    decode,
    encode,
)
from refloat_scheduler.core.policies.validation import compile_error, write_error
from testkit.scheduling.makers import rule


def body(**changes: JsonValue) -> PolicyBody:
    fields: dict[str, JsonValue] = {"name": "p", "retryLimit": 1, "defaultAction": "Fail"}
    found = decode(fields | changes)
    assert found is not None
    return found


def bumped(bump: MemoryBump, action: Act = Act.RETRY) -> PolicyBody:
    mutate = MutationDocument(resources=ResourceMutation(bump))
    return PolicyBody("p", 1, Act.FAIL, (RuleDocument(action, "oom", mutate=mutate),))


@pytest.mark.parametrize(
    "policy",
    [
        body(),
        body(rules=[rule("Retry", "oom")]),
        body(rules=[rule("Retry", "oom", factor=1.25, avoid=True)]),
        body(rules=[rule("Retry", "oom", static="256Mi")]),
        body(retryLimit=(1 << 32) - 1, name="a" * 63),
    ],
)
def test_accepted(policy: PolicyBody) -> None:
    assert write_error(policy) is None
    assert compile_error(policy) is None


MEMORY_PATH = "rules[0].mutate.resources.memory"
MEMORY = 'retry policy "p" rule 0: mutate.resources.memory: '


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (None, "retry policy must not be nil"),
        (body(name=""), "retry policy name must not be empty"),
        (body(name="a" * 64), f'retry policy name "{"a" * 64}" must be at most 63 characters'),
        (body(name="é" * 32), f'retry policy name "{"é" * 32}" must be at most 63 characters'),
        (body(rules=[None]), 'retry policy "p" rule 0: rule must not be nil'),
        (body(rules=[{"onCategory": "c"}]), 'retry policy "p" rule 0: action must be Fail or Retry'),
        (body(rules=[{"action": "Retry"}]), 'retry policy "p" rule 0: on_category must be set'),
        (body(rules=[{"action": "Retry", "onSubcategory": "s"}]), 'retry policy "p" rule 0: on_category must be set'),
        (body(defaultAction=None), 'retry policy "p" must set a default action (Fail or Retry)'),
        (bumped(MemoryBump("1Gi", 2.0)), MEMORY + "set exactly one of static and factor, not both"),
        (bumped(MemoryBump()), MEMORY + "set exactly one of static and factor"),
        (bumped(MemoryBump("1G1")), MEMORY + 'invalid static quantity "1G1": unable to parse quantity\'s suffix'),
        (bumped(MemoryBump("0")), MEMORY + 'static quantity "0" must be positive'),
        (bumped(MemoryBump("-1Gi")), MEMORY + 'static quantity "-1Gi" must be positive'),
        (bumped(MemoryBump(factor=1.0)), MEMORY + "factor 1 must be greater than 1.0"),
        (bumped(MemoryBump(factor=0.5)), MEMORY + "factor 0.5 must be greater than 1.0"),
        (bumped(MemoryBump(factor=-3.0)), MEMORY + "factor -3 must be greater than 1.0"),
        (bumped(MemoryBump(factor=math.nan)), MEMORY + "factor NaN must be greater than 1.0"),
        (bumped(MemoryBump(factor=math.inf)), MEMORY + "factor +Inf must be a finite number"),
        (bumped(MemoryBump(factor=-math.inf)), MEMORY + "factor -Inf must be greater than 1.0"),
        (bumped(MemoryBump(factor=0.5), Act.FAIL), MEMORY + "factor 0.5 must be greater than 1.0"),
    ],
)
def test_refused_at_write(policy: PolicyBody | None, error: str) -> None:
    assert write_error(policy) == error


@pytest.mark.parametrize("name", ["-a", "a-", "A", "a_b", "a.b", "a b", "a\n", "é"])
def test_names_are_rfc_1123_labels(name: str) -> None:
    error = write_error(body(name=name))
    assert error is not None
    assert error.endswith("must start and end with an alphanumeric character")
    assert compile_error(body(name=name)) is None


@pytest.mark.parametrize(
    "bump",
    [
        MemoryBump("1Gi", 2.0),
        MemoryBump(),
        MemoryBump("junk"),
        MemoryBump("-1Gi"),
        MemoryBump(factor=1.0),
        MemoryBump(factor=math.nan),
        MemoryBump(factor=math.inf),
    ],
)
def test_a_bump_that_may_not_be_stored_is_not_served_either(bump: MemoryBump) -> None:
    error = compile_error(bumped(bump))
    assert error is not None
    assert error.startswith("rule 0: mutate.resources.memory: ")


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (None, "retry policy is nil"),
        (body(name="", defaultAction=None), 'default_action: unknown action "RETRY_ACTION_UNSPECIFIED"'),
        (body(name="", rules=[None]), "rule 0: rule is nil"),
        (body(name="", rules=[{"onCategory": "c"}]), 'rule 0: action: unknown action "RETRY_ACTION_UNSPECIFIED"'),
        (body(name="", rules=[{"action": "Fail"}]), 'policy "": policy name must not be empty'),
        (body(rules=[{"action": "Fail"}]), 'policy "p": rule 0: OnCategory must be set'),
    ],
)
def test_not_served_in_the_order_of_armadas_conversion(policy: PolicyBody | None, error: str) -> None:
    assert compile_error(policy) == error


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("x", ""),
        ({"name": 5}, "name"),
        ({"retryLimit": "3"}, "retryLimit"),
        ({"retryLimit": 3.0}, "retryLimit"),
        ({"retryLimit": True}, "retryLimit"),
        ({"retryLimit": -1}, "retryLimit"),
        ({"retryLimit": 1 << 32}, "retryLimit"),
        ({"defaultAction": "Sometimes"}, "defaultAction"),
        ({"defaultAction": 3}, "defaultAction"),
        ({"defaultAction": 1.5}, "defaultAction"),
        ({"rules": {}}, "rules"),
        ({"rules": "x"}, "rules"),
        ({"rules": ["x"]}, "rules[0]"),
        ({"rules": [None, {"action": []}]}, "rules[1].action"),
        ({"rules": [{"mutate": {"affinity": {"avoidSameNode": 1}}}]}, "rules[0].mutate.affinity.avoidSameNode"),
        ({"rules": [{"mutate": {"resources": {"memory": {"factor": "2"}}}}]}, f"{MEMORY_PATH}.factor"),
        ({"rules": [{"mutate": {"resources": {"memory": {"factor": 10**400}}}}]}, f"{MEMORY_PATH}.factor"),
        ({"rules": [{"mutate": {"resources": {"memory": {"static": 5}}}}]}, f"{MEMORY_PATH}.static"),
        ({"rules": [{"mutate": {"resources": []}}]}, "rules[0].mutate.resources"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_named_by_its_path(value: JsonValue, path: str) -> None:
    with pytest.raises(PolicyDecodeError) as caught:
        decode(value)
    assert caught.value.path == path


def test_actions_are_read_in_every_spelling_and_written_as_words() -> None:
    spellings: list[JsonValue] = ["retry", "RETRY", "Retry", "RETRY_ACTION_RETRY", 2]
    for spelling in spellings:
        assert encode(body(defaultAction=spelling))["defaultAction"] == "Retry"
    assert encode(body(defaultAction="Unspecified")) == {"name": "p", "retryLimit": 1}


def test_keys_are_read_in_any_case_and_zero_values_are_not_written() -> None:
    read = decode({"NAME": "p", "retrylimit": 0, "DefaultAction": "fail", "Rules": [rule("Fail", "c")], "kind": "x"})
    assert read is not None
    assert encode(read) == {
        "name": "p",
        "defaultAction": "Fail",
        "rules": [{"action": "Fail", "onCategory": "c"}],
    }

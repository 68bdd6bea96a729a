"""What is wrong with a policy file is said by its field, one fault at a time (the vectors hold the rest)."""

import pytest

from refloat_ctl.core.resources.fields import FieldError
from refloat_ctl.core.resources.policies import read_policy
from refloat_ctl.core.text.reading import read_text

VERSION = "armadaproject.io/v1beta1"
HEAD = f"apiVersion: {VERSION}\nkind: RetryPolicy\n"
UNKNOWN_MATCH = 'unknown field "onExitCodes"; known: action, onCategory, onSubcategory, mutate'
RULE = HEAD + "name: p\ndefaultAction: Fail\nrules:\n- action: Retry\n  onCategory: c\n"


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        (HEAD + "retry_limit: 3", "retry_limit", 'unknown field "retry_limit"; did you mean retryLimit?'),
        (
            HEAD + "spec: {}",
            "spec",
            'unknown field "spec"; known: apiVersion, kind, name, retryLimit, defaultAction, rules',
        ),
        (RULE + "  onExitCodes: [1]", "rules[0].onExitCodes", UNKNOWN_MATCH),
        (
            RULE + "  mutate: {resources: {cpu: {}}}",
            "rules[0].mutate.resources.cpu",
            'unknown field "cpu"; known: memory',
        ),
        (
            RULE + "  mutate: {affinity: {avoid_same_node: true}}",
            "rules[0].mutate.affinity.avoid_same_node",
            'unknown field "avoid_same_node"; did you mean avoidSameNode?',
        ),
        (
            RULE + "  mutate: {resources: {memory: {static: 512}}}",
            "rules[0].mutate.resources.memory.static",
            "expected a string, not 512",
        ),
        (RULE + "- 5", "rules[1]", "must be a map of keys to values, not 5"),
        (HEAD + "rules: {a: b}", "rules", "must be a list, not a map"),
        (HEAD + "retryLimit: -1", "retryLimit", "-1 is not between 0 and 4294967295"),
        (HEAD + "retryLimit: -0.0", "retryLimit", "expected a whole number, not -0.0"),
        (HEAD + "retryLimit: 1.5", "retryLimit", "expected a whole number, not 1.5"),
        (HEAD + "defaultAction: on", "defaultAction", "expected Fail or Retry, not true"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {}", "apiVersion", f"invalid version: v1; valid: {VERSION}"),
        ("kind: Pod", "kind", "invalid kind: Pod; valid: Queue, RetryPolicy"),
        ("kind: [Pod]", "kind", "must be a text, not a list"),
        ("name: p", "apiVersion", 'apiVersion must be "armadaproject.io/v1beta1"'),
        ("apiVersion: armadaproject.io/v1beta1", "kind", 'kind must be "RetryPolicy"'),
        ("[a]", "", "must be a map of keys to values, not a list"),
    ],
)
def test_a_fault_is_named(text: str, path: str, problem: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_policy(read_text(text))
    assert (caught.value.path, caught.value.problem) == (path, problem)

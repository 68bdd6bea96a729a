"""Every way in which an errorCategories block can be refused: where, and in which words."""

import pytest

from refloat_common.core.categories import CategoryConfigError, ErrorCategories, check_categories, compile_categories
from refloat_common.core.settings import SettingsError, parse_settings
from testkit.category_makers import OOM, Block, block, category, event_says, exit_in, pod_says, says

LONG = "x" * 64
MATCHERS = "onConditions, onExitCodes, onTerminationMessage, onPodError, or onPodEvents"
ROOT = "application.errorCategories"
RULE = f"{ROOT}.categories[0].rules[0]"


def refusal(config: ErrorCategories) -> tuple[str, str]:
    with pytest.raises(CategoryConfigError) as caught:
        compile_categories(config)
    assert str(caught.value) == f"{caught.value.path}: {caught.value.problem}"
    return caught.value.path, caught.value.problem


def test_default_category_too_long() -> None:
    found = refusal(block(defaultCategory=LONG))
    assert found == (f"{ROOT}.defaultCategory", f'defaultCategory "{LONG}" exceeds maximum length 63')


def test_default_subcategory_too_long() -> None:
    found = refusal(block(defaultSubcategory=LONG))
    assert found == (f"{ROOT}.defaultSubcategory", f'defaultSubcategory "{LONG}" exceeds maximum length 63')


def test_length_is_counted_in_bytes() -> None:
    check_categories(block(defaultCategory="é" * 31 + "x"))
    found = refusal(block(defaultCategory="é" * 32))
    assert found == (f"{ROOT}.defaultCategory", f'defaultCategory "{"é" * 32}" exceeds maximum length 63')


def test_category_without_a_name() -> None:
    assert refusal(block(category("", OOM))) == (f"{ROOT}.categories[0].name", "category config must have a name")


def test_category_name_too_long() -> None:
    found = refusal(block(category(LONG, OOM)))
    assert found == (f"{ROOT}.categories[0].name", f'category name "{LONG}" exceeds maximum length 63')


def test_category_name_used_twice() -> None:
    found = refusal(block(category("a", OOM), category("b", OOM), category("a", OOM)))
    assert found == (f"{ROOT}.categories[2].name", 'duplicate category name "a"')


def test_category_without_rules() -> None:
    assert refusal(block(category("a"))) == (f"{ROOT}.categories[0].rules", 'category "a" must have at least one rule')


def test_action_that_is_none() -> None:
    found = refusal(block(category("a", OOM, action="delete")))
    assert found == (
        f"{ROOT}.categories[0].action",
        'category "a": invalid action "delete": must be "Delete" or "Retain"',
    )


def test_subcategory_too_long() -> None:
    found = refusal(block(category("a", {**OOM, "subcategory": LONG})))
    assert found == (f"{RULE}.subcategory", f'category "a" rule 0: subcategory "{LONG}" exceeds maximum length 63')


@pytest.mark.parametrize("rule", [{}, {"onConditions": []}, {"onExitCodes": None}, {"hint": "h", "containerName": "c"}])
def test_rule_without_a_matcher(rule: Block) -> None:
    assert refusal(block(category("a", rule))) == (RULE, f'category "a" rule 0: rule must specify one of {MATCHERS}')


@pytest.mark.parametrize("second", [exit_in(1), says("x"), pod_says("x"), event_says("x")])
def test_rule_with_two_matchers(second: Block) -> None:
    found = refusal(block(category("a", {**OOM, **second})))
    assert found == (RULE, f'category "a" rule 0: rule must specify only one of {MATCHERS}')


def test_unknown_condition() -> None:
    found = refusal(block(category("a", OOM, {"onConditions": ["Evicted", "Preempted"]})))
    problem = 'category "a" rule 1: unknown condition "Preempted", valid values: OOMKilled, Evicted, DeadlineExceeded'
    assert found == (f"{ROOT}.categories[0].rules[1].onConditions[1]", problem)


def test_exit_code_operator() -> None:
    found = refusal(block(category("a", {"onExitCodes": {"operator": "in", "values": []}})))
    problem = 'category "a" rule 0: invalid exit code operator "in", must be "In" or "NotIn"'
    assert found == (f"{RULE}.onExitCodes.operator", problem)


def test_exit_codes_without_values() -> None:
    found = refusal(block(category("a", exit_in())))
    assert found == (f"{RULE}.onExitCodes.values", 'category "a" rule 0: exit code matcher requires at least one value')


@pytest.mark.parametrize(
    ("rule", "key", "words"),
    [
        (says("("), "onTerminationMessage.pattern", "onTerminationMessage regex"),
        (pod_says("("), "onPodError.pattern", "onPodError regex"),
        (event_says("("), "onPodEvents.regexp", "onPodEvents regexp"),
        (event_says("(", kind="nonsense"), "onPodEvents.regexp", "onPodEvents regexp"),
    ],
)
def test_pattern_that_is_none(rule: Block, key: str, words: str) -> None:
    problem = f'category "a" rule 0: invalid {words} "(": error parsing regexp: missing ): ('
    assert refusal(block(category("a", rule))) == (f"{RULE}.{key}", problem)


@pytest.mark.parametrize("kind", ["", "warning", " Normal"])
def test_event_type(kind: str) -> None:
    problem = f'category "a" rule 0: invalid onPodEvents type "{kind}", must be "Normal" or "Warning"'
    assert refusal(block(category("a", event_says("x", kind=kind)))) == (f"{RULE}.onPodEvents.type", problem)


def test_names_are_quoted_as_go_quotes_them() -> None:
    problem = refusal(block(category('a"\n\x00\x7f\u200b\U000e0001é', OOM, action="\\")))[1]
    assert problem == (r'category "a\"\n\x00\x7f\u200b\U000e0001é": invalid action "\\": must be "Delete" or "Retain"')


def test_the_first_error_wins() -> None:
    bad_rule = {"onExitCodes": {"operator": "in", "values": []}, "subcategory": LONG}
    assert refusal(block(category("", bad_rule), defaultSubcategory=LONG))[0] == f"{ROOT}.defaultSubcategory"
    assert refusal(block(category("a", bad_rule, action="x")))[0] == f"{ROOT}.categories[0].action"
    assert refusal(block(category("a", bad_rule)))[0] == f"{RULE}.subcategory"


def test_a_block_that_is_not_enabled_is_not_checked() -> None:
    config = block(category("", pod_says("(")), enabled=False)
    assert compile_categories(config).rules == ()
    with pytest.raises(CategoryConfigError, match="category config must have a name"):
        check_categories(config)


@pytest.mark.parametrize(
    ("tree", "path", "problem"),
    [
        ({"categorys": []}, "categorys", "unknown key; did you mean categories?"),
        (
            {"categories": [category("a", {"onPodEvents": {"pattern": "x"}})]},
            "categories[0].rules[0].onPodEvents.pattern",
            "unknown key; known: reason, regexp, type",
        ),
        (
            {"categories": [category("a", exit_in(2**31))]},
            "categories[0].rules[0].onExitCodes.values[0]",
            "must be at most 2147483647, got 2147483648",
        ),
        ({"categories": [{"name": 7}]}, "categories[0].name", "input should be a valid string, got 7"),
        ({"enabled": "yes"}, "enabled", "input should be true or false, got 'yes'"),
    ],
)
def test_keys_and_types_are_refused_by_name(tree: Block, path: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(ErrorCategories, tree, ROOT)
    assert (caught.value.path, caught.value.problem) == (f"{ROOT}.{path}", problem)


def test_keys_match_in_any_case_and_null_is_not_written() -> None:
    tree = {"ENABLED": True, "defaultcategory": "x", "Categories": [{"NAME": "a", "Action": None, "rules": [OOM]}]}
    assert parse_settings(ErrorCategories, tree) == block(category("a", OOM), defaultCategory="x")

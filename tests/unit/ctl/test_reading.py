"""The YAML dialect of files for refloatctl: Go's `yaml.v2`, strict."""

import pytest

from refloat_common.core.jsontypes import JsonValue
from refloat_ctl.core.text.reading import MAX_DEPTH, TextError, read_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("~", None),
        ("[yes, On, y, TRUE, no, OFF, n, False, yEs]", [True] * 4 + [False] * 4 + ["yEs"]),
        ("[017, 0o17, 0x1F, 0b101, -0b101, 1_000, +5, 08, 0]", [15, 15, 31, 5, -5, 1000, 5, 8, 0]),
        ("[3.0, 1e2, .5, 1., -.5e-1, 1e21]", [3, 100, 0.5, 1, -0.05, 1e21]),
        ("[1e1000, 0x, 1:30, 18446744073709551616]", ["1e1000", "0x", "1:30", 1 << 64]),
        ("[2026-01-31, 2026-1-3T04:05:06Z, 2026-13-01]", ["2026-01-31", "2026-1-3T04:05:06Z", "2026-13-01"]),
        ("['yes', \"017\", !!str 5, !!int '5', !!float '2', !!bool y, !local x]", ["yes", "017", "5", 5, 2, True, "x"]),
        ("!!binary aGk=", "hi"),
        ("{1: a, true: b, 1.5: c, 2026-01-31: d}", {"1": "a", "1.5": "c", "2026-01-31": "d", "true": "b"}),
        ('{\n\t"a":\t1}', {"a": 1}),
        ("a: 1\n---\n: [ broken", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
        ("a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("- &b {a: 1}\n- {<<: *b, c: 2}\n- {<<: [*b, {d: 3}]}", [{"a": 1}, {"a": 1, "c": 2}, {"a": 1, "d": 3}]),
        ("{'<<': 1}", {"<<": 1}),
    ],
)
def test_texts_and_what_they_stand_for(text: str, value: JsonValue) -> None:
    assert read_text(text) == value


def test_keys_come_out_in_the_order_in_which_the_last_spelling_wins() -> None:
    value = read_text("{name: low, Name: high, b: 1, _: 2}")
    assert isinstance(value, dict)
    assert list(value) == ["Name", "_", "b", "name"]


@pytest.mark.parametrize(
    ("text", "line", "key", "problem"),
    [
        ("a: 1\nb: 2\na: 3", 3, "a", 'key "a" is written twice'),
        ("x: &x {a: 1}\ny:\n  a: 2\n  <<: *x", 4, "a", 'key "a" is written twice'),
        ("a:\n  <<: 5", 2, "<<", "<< takes a map or a list of maps"),
        ("? [a]\n: b", 1, "", "a list or a map can't be a key"),
        ("~: b", 1, "", "null can't be a key"),
        ("a: *b", 1, "", "the alias *b names nothing that stands before it"),
        ("a: &a [*a]", 1, "", "the alias *a names nothing that stands before it"),
        ("a:\n  b: .inf", 2, "", ".inf is not a finite number"),
        ("a: !!int x", 1, "", '"x" is no !!int'),
        ("a: !!int yes", 1, "", '"yes" is no !!int'),
        ("a: !!set x", 1, "", '"x" is no !!set'),
        ("a: !!binary '*'", 1, "", '"*" is no !!binary'),
        ("%unknown\n---\na: 1", 1, "", "found unknown directive name"),
        ("a: \x01", 1, "", "control characters are not allowed"),
    ],
)
def test_texts_that_stand_for_nothing(text: str, line: int, key: str, problem: str) -> None:
    with pytest.raises(TextError) as caught:
        read_text(text)
    assert (caught.value.line, caught.value.key, caught.value.problem) == (line, key, problem)


def test_a_deep_text_is_refused() -> None:
    read_text("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(TextError, match=f"is nested deeper than {MAX_DEPTH}"):
        read_text("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_a_small_text_that_stands_for_a_huge_one_is_refused() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(TextError, match="line 5: stands for more than 100000 values"):
        read_text("\n".join(lines))

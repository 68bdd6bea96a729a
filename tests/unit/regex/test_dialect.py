"""Where Go's patterns and RE2's part, and what is made of it."""

import pytest

from refloat_common.core.regex import Pattern, UnsupportedPatternError, to_re2


@pytest.mark.parametrize(
    "pattern",
    ["", "a.b", r"\bOOM[- ]?kill(ed|er)?\b", r"[]a]", r"[^]a]", r"[\]\\]", "[[:alpha:]]+", r"\pL\PN", r"\p{Greek}",
     r"\p{^Lu}", r"\p{SignWriting}", r"\p{Any", r"\x{1F680}", "(?P<ok_1>a)(?<x>b)", r"\Q\C(?P<é>\E", r"\Q(((\E",
     "a\x00b", r"[(\p{Lu}]", "(?i)größe", "\\"],
)  # fmt: skip
def test_most_patterns_are_left_as_they_are(pattern: str) -> None:
    assert to_re2(pattern) == pattern


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        (r"a\Cb", r"invalid escape sequence: \C"),
        ("(?P<é>a)", "invalid named capture: (?P<é>"),
        ("(?<na me>a)", "invalid named capture: (?<na me>"),
        ("(?P<>a)", "invalid named capture: (?P<>"),
        ("(" * 1000 + "a" + ")" * 1000, "groups nest more than 999 deep"),
        ("a\ud800", "invalid UTF-8 at character 1"),
        (r"[a\P{LC}]", r"\P{LC} cannot stand inside brackets"),
        (r"[\p{Cn}]", r"\p{Cn} cannot stand inside brackets"),
    ],
)
def test_patterns_that_go_refuses_or_re2_cannot_run(pattern: str, problem: str) -> None:
    with pytest.raises(UnsupportedPatternError) as caught:
        to_re2(pattern)
    assert str(caught.value) == problem


def test_999_groups_may_nest_and_brackets_and_quotes_hide_parentheses() -> None:
    assert Pattern("(" * 999 + "a" + ")" * 999).found_in(b"a")
    assert to_re2("[(]" * 2000 + r"\(" * 2000 + "()" * 2000).startswith("[(]")


@pytest.mark.parametrize(
    ("pattern", "found", "missed"),
    [
        (r"^\p{Letter}$", "é", "1"),
        (r"^\p{uppercase letter}$", "É", "é"),
        (r"^\p{greek}$", "λ", "l"),
        (r"^\p{OLD-ITALIC}$", "\U00010300", "a"),
        (r"^\p{signwriting}$", "\U0001d800", "a"),
        (r"^\P{letter}$", "1", "a"),
        (r"^\p{^letter}$", "1", "a"),
        (r"^\P{^letter}$", "a", "1"),
        (r"^\p{ASCII}$", "a", "é"),
        (r"^\P{ASCII}$", "é", "a"),
        (r"^[\P{ascii}x]$", "é", "a"),
        (r"^\p{any}$", "é", ""),
        (r"^\p{LC}$", "a", "ª"),
        (r"^\P{LC}$", "ª", "a"),
        (r"^\p{cased_letter}$", "ǅ", "日"),
        (r"^[\p{LC}1]$", "1", "2"),
        (r"^\p{Assigned}$", "日", "\u0378"),
        (r"^\p{Cn}$", "\u0378", "日"),
        (r"^\p{lu}$", "A", "a"),
        (r"^[^\p{letter}]$", "1", "a"),
    ],
)
def test_names_of_unicode_classes_that_only_go_knows(pattern: str, found: str, missed: str) -> None:
    assert Pattern(pattern).found_in(found.encode())
    assert not Pattern(pattern).found_in(missed.encode())


@pytest.mark.parametrize("name", ["Nope", "nope", "", "λ", "L L L"])
def test_names_that_nobody_knows(name: str) -> None:
    with pytest.raises(UnsupportedPatternError, match="invalid character class range"):
        Pattern(rf"\p{{{name}}}")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\B", "_µz", False),
        (r"\B", "µ", True),
        (r"\B", "ab", True),
        (r"a\B", "aµ", False),
        (r"^\Bx|(?i)\Bk", "éK", False),
        (r"(?i)\Bk", "aK", True),
        (r"\B|a\Qb\E", "a", False),
        ("(?m)^b\\B", "a\nbb", True),
        (r"\Bb\Q(", "ab(", True),
    ],
)
def test_no_word_boundary_lies_inside_a_character(pattern: str, text: str, found: bool) -> None:  # noqa: FBT001  # an expected value
    assert Pattern(pattern).found_in(text.encode()) is found


@pytest.mark.parametrize("pattern", ["(", "a)(b", r"\B)(", "[", "a**", "x{1001}", r"\1", "(?=a)", r"[\C]", "\\"])
def test_patterns_that_re2_refuses(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError):
        Pattern(pattern)


def test_a_large_program_fits_into_the_memory() -> None:
    assert Pattern(r"\pL{1000}").found_in("ä".encode() * 1000)

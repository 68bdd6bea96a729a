"""Selectors as values: the whole of what a text means."""

import pytest

from refloat_fakekube.core.refusals import BadRequestError
from refloat_fakekube.core.selectors import Requirement, Selector, parse_fields, parse_labels


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("a", (Requirement("a", "exists"),)),
        ("!a", (Requirement("a", "absent"),)),
        ("a=b", (Requirement("a", "in", ("b",)),)),
        ("a==b", (Requirement("a", "in", ("b",)),)),
        ("a=", (Requirement("a", "in", ("",)),)),
        ("a!=b", (Requirement("a", "notin", ("b",)),)),
        ("a in (b, c)", (Requirement("a", "in", ("b", "c")),)),
        ("a notin (b),x", (Requirement("a", "notin", ("b",)), Requirement("x", "exists"))),
        ("x.io/a > 5", (Requirement("x.io/a", "gt", ("5",)),)),
        ("a<5", (Requirement("a", "lt", ("5",)),)),
        ("in=notin", (Requirement("in", "in", ("notin",)),)),
    ],
)
def test_a_label_selector_is_read(text: str, terms: tuple[Requirement, ...]) -> None:
    assert parse_labels(text) == terms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a,", "found '', expected: identifier after ','"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ],
)
def test_what_can_not_be_read_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        parse_labels(text)
    assert refused.value.message == words


def test_field_values_may_hold_escaped_signs() -> None:
    found = parse_fields(r"a=x\,y\=z,b!=", {"a", "b"})
    assert found == (Requirement("a", "in", ("x,y=z",)), Requirement("b", "notin", ("",)))


@pytest.mark.parametrize(
    ("text", "words"),
    [("c=1", "field label not supported: c"), ("a", "invalid selector: 'a'; can't understand 'a'")],
)
def test_other_fields_are_refused(text: str, words: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        parse_fields(text, {"a"})
    assert refused.value.message == words


@pytest.mark.parametrize(
    ("term", "labels", "holds"),
    [
        (Requirement("a", "notin", ("b",)), {}, True),
        (Requirement("a", "in", ("b",)), {}, False),
        (Requirement("a", "gt", ("5",)), {"a": "6"}, True),
        (Requirement("a", "gt", ("5",)), {"a": "x"}, False),
        (Requirement("a", "lt", ("5",)), {}, False),
        (Requirement("a", "absent"), {"a": ""}, False),
    ],
)
def test_a_term_holds_or_not(term: Requirement, labels: dict[str, str], holds: bool) -> None:  # noqa: FBT001
    assert term.holds(labels) is holds


def test_a_selector_asks_for_its_namespace_too() -> None:
    selector = Selector("one", fields=(Requirement("spec.nodeName", "notin", ("",)),))
    assert selector.picks("one", {}, {"spec.nodeName": "n"})
    assert not selector.picks("two", {}, {"spec.nodeName": "n"})
    assert not selector.picks("one", {}, {"spec.nodeName": ""})

"""Whatever refloatctl prints as YAML, it reads back as the same."""

from hypothesis import given
from hypothesis import strategies as st

from refloat_common.core.jsontypes import JsonValue
from refloat_ctl.core.resources.queues import tidied
from refloat_ctl.core.text.json_out import write_json
from refloat_ctl.core.text.reading import TextError, read_text
from refloat_ctl.core.text.writing import write_yaml

TRICKY = st.sampled_from(
    [
        *("", "~", "null", "yes", "No", "on", "y", "017", "0x1F", "1_000", "1e3", ".5", "-.inf", "+.NaN", "2026-01-31"),
        *("2026-1-3 4:05:06", "12:30:45", "<<", "=", "- a", "a: b", "a #b", "a\nb", "\n", " a", "a ", "a\n\n", "\ta"),
        *("é", "\u2028", "\u0085", "\ufeff", "\x07", "\U0001f600", "'", '"', "%", "@", "`", "!x", "&a", "*a", "|", ">"),
    ]
)
TEXTS = TRICKY | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_written_is_read_back(value: JsonValue) -> None:
    assert read_text(write_yaml(value)) == tidied(value)


@given(VALUES)
def test_json_that_is_written_is_read_back(value: JsonValue) -> None:
    assert read_text(write_json(value)) == tidied(value)


@given(st.text(max_size=200))
def test_any_text_is_a_value_or_one_kind_of_error(text: str) -> None:
    try:
        value = read_text(text)
    except TextError:
        return
    assert read_text(write_yaml(value)) == value

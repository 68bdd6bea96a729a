"""Go's durations."""

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refloat_common.core.settings import InvalidDurationError, format_go_duration, parse_go_duration


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0", timedelta()),
        ("-0", timedelta()),
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        (".5s", timedelta(milliseconds=500)),
        ("1.s", timedelta(seconds=1)),
        ("300ms", timedelta(milliseconds=300)),
        ("7us", timedelta(microseconds=7)),
        ("7µs", timedelta(microseconds=7)),
        ("7μs", timedelta(microseconds=7)),
        ("2000ns", timedelta(microseconds=2)),
        ("-1m", timedelta(minutes=-1)),
        ("+1m", timedelta(minutes=1)),
        ("1s1s", timedelta(seconds=2)),
    ],
)
def test_durations(text: str, duration: timedelta) -> None:
    assert parse_go_duration(text) == duration


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", "1", "s", ".s", "1d", "1 s", " 1s", "1s ", "1S", "--1s", "1e3s", "1h-1m", "٣s", "1s\n",
     "2562048h", "9" * 200 + "h", "1" * 101],
)  # fmt: skip
def test_texts_that_are_none(text: str) -> None:
    with pytest.raises(InvalidDurationError, match="such as 30s, 5m or 1h30m"):
        parse_go_duration(text)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(minutes=90), "1h30m"),
        (timedelta(seconds=-1.5), "-1.5s"),
        (timedelta(milliseconds=300), "0.3s"),
        (timedelta(hours=1, microseconds=1), "1h0.000001s"),
    ],
)
def test_formatting(duration: timedelta, text: str) -> None:
    assert format_go_duration(duration) == text


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_what_is_written_reads_back(duration: timedelta) -> None:
    assert parse_go_duration(format_go_duration(duration)) == duration


@given(st.text(alphabet="0123456789.hmsuµn+- \x00", max_size=12))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidDurationError):
        parse_go_duration(text)

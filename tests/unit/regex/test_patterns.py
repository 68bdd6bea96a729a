"""Sets of patterns: the lowest rank wins, and a set that runs out of memory is no set without a match."""

import pytest

from refloat_common.core.regex import MAX_TEXT_BYTES, Pattern, PatternSet, to_bytes
from refloat_common.core.regex import patterns as module

NONE = 99


def pattern_set(*pairs: tuple[int, str]) -> PatternSet:
    return PatternSet([(rank, Pattern(source)) for rank, source in pairs], NONE)


def test_the_lowest_rank_wins_whatever_the_order_of_adding_or_of_the_text() -> None:
    found = pattern_set((7, "ant"), (3, "zebra"), (5, "bee"))
    assert found.in_one_pass
    assert found.best_rank == 3
    assert [found.first(text) for text in (b"ant bee zebra", b"bee ant", b"ant", b"cow")] == [3, 5, 7, NONE]


def test_an_empty_text_contains_nothing() -> None:
    assert pattern_set((1, ".*"), (2, "")).first(b"") == NONE
    assert not Pattern("").found_in(b"")


def test_bytes_that_are_no_text_and_nul_are_searched_all_the_same() -> None:
    assert pattern_set((1, "a"), (2, "\x00")).first(b"\xff\x00\xc3") == 2


class _ExhaustedSet:
    """A set whose automaton runs out of memory on every text: it finds not even what is always found."""

    def Match(self, _text: bytes) -> None:  # noqa: N802  # RE2's own name
        return None


def test_a_set_that_runs_out_of_memory_falls_back_to_one_by_one() -> None:
    found = pattern_set((2, "b"), (1, "a"))
    found._set = _ExhaustedSet()  # type: ignore[assignment]  # stands in for RE2's set
    assert [found.first(text) for text in (b"xbax", b"xbx", b"x")] == [1, 2, NONE]


def test_a_set_that_does_not_fit_is_searched_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = [(rank, Pattern(rf"(?i)word{rank}\pL{{20}}")) for rank in range(5)]
    monkeypatch.setattr(module, "MAX_PATTERN_MEMORY_BYTES", 64 << 10)
    found = PatternSet(patterns, NONE)
    assert not found.in_one_pass
    assert found.first(b"word3" + b"x" * 20 + b" word1" + b"y" * 20) == 1
    assert found.first(b"nothing") == NONE


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("", b""),
        ("é", b"\xc3\xa9"),
        ("a\ud800b", b"a?b"),
        ("x" * (MAX_TEXT_BYTES + 1), b"x" * MAX_TEXT_BYTES),
        ("é" * MAX_TEXT_BYTES, "é".encode() * (MAX_TEXT_BYTES // 2)),
        ("x" + "é" * MAX_TEXT_BYTES, b"x" + "é".encode() * ((MAX_TEXT_BYTES - 1) // 2)),
    ],
)
def test_texts_are_cut_between_characters(text: str, raw: bytes) -> None:
    assert to_bytes(text) == raw

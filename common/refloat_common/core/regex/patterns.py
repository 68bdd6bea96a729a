"""Finds which of many patterns occur in a text, in one pass over it (RE2, no back-tracking)."""

from collections.abc import Sequence
from typing import Protocol, cast

import re2

from refloat_common.core.regex.dialect import UnsupportedPatternError, to_re2

MAX_TEXT_BYTES = 16 * 1024
"""A text is cut here before it is searched. The kubelet cuts all termination messages of a pod at 12 KiB together."""

MAX_PATTERN_MEMORY_BYTES = 64 << 20
"""Bound on RE2's program and automaton, for each pattern and each set."""

_ALWAYS_FOUND = "(?:)"
_PROBE = b"exit status 1: \xc3\xa9 \xe6\x97\xa5\n"


class _Searchable(Protocol):
    def search(self, text: bytes) -> object | None: ...


class _Set(Protocol):
    def Add(self, pattern: str) -> int: ...  # noqa: N802  # RE2's own name
    def Compile(self) -> None: ...  # noqa: N802  # RE2's own name
    def Match(self, text: bytes) -> list[int] | None: ...  # noqa: N802  # RE2's own name


def _options() -> object:
    options = re2.Options()
    options.max_mem = MAX_PATTERN_MEMORY_BYTES
    options.log_errors = False
    return options


def to_bytes(text: str) -> bytes:
    """The UTF-8 of a text, cut at MAX_TEXT_BYTES between two characters; half surrogate pairs become `?`."""
    raw = text[:MAX_TEXT_BYTES].encode("utf-8", "replace")
    if len(raw) <= MAX_TEXT_BYTES:
        return raw
    return raw[:MAX_TEXT_BYTES].decode("utf-8", "ignore").encode()


class Pattern:
    """One pattern of an operator's, ready to be searched for.

    Raises:
        UnsupportedPatternError: it is not a pattern that both Go and RE2 take.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.translated = to_re2(source)
        try:
            # Compiled alone first: what the translation wraps round a pattern must not mend a broken one.
            self._compiled = cast("_Searchable", re2.compile(self.translated, _options()))
        except re2.error as error:
            reason = error.args[0] if error.args else b""
            text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            raise UnsupportedPatternError(text) from None

    def found_in(self, text: bytes) -> bool:
        """Whether the pattern occurs anywhere in the text. An empty text contains nothing, not even `.*`."""
        return bool(text) and self._compiled.search(text) is not None


class PatternSet:
    """Patterns with a rank each; answers with the lowest rank whose pattern occurs in a text.

    `best_rank` is the lowest rank that it can answer with.
    """

    def __init__(self, ranked: Sequence[tuple[int, Pattern]], no_rank: int) -> None:
        """Takes (rank, pattern) pairs in any order; `no_rank` is the answer where nothing is found."""
        self._patterns = sorted(ranked, key=lambda pair: pair[0])
        self._ranks = [rank for rank, _ in self._patterns] + [no_rank]
        self._no_rank = no_rank
        self.best_rank = self._ranks[0]
        self._set = _compile_set([pattern.translated for _, pattern in self._patterns])

    @property
    def in_one_pass(self) -> bool:
        """Whether the set fits into RE2's memory; if not, its patterns are searched one after another."""
        return self._set is not None

    def first(self, text: bytes) -> int:
        """The lowest rank found in the text, or `no_rank`."""
        if not text:
            return self._no_rank
        if self._set is not None:
            found = self._set.Match(text)
            # The pattern that is always found is the last one. Without it the automaton ran out of memory on this
            # text, which RE2 tells its caller in no other way.
            if found:
                return self._ranks[min(found)]
        return next((rank for rank, pattern in self._patterns if pattern.found_in(text)), self._no_rank)


def _compile_set(patterns: Sequence[str]) -> _Set | None:
    """The patterns and one that is always found as one automaton; None if that is beyond RE2's memory."""
    compiled = cast("_Set", re2.Set.SearchSet(_options()))
    try:
        for pattern in patterns:
            compiled.Add(pattern)
        compiled.Add(_ALWAYS_FOUND)
        compiled.Compile()
    except re2.error:
        return None
    return compiled if compiled.Match(_PROBE) else None

r"""Turns a pattern of Go's `regexp` into one that RE2 answers in the same way, or refuses it.

The two dialects are one apart from a few corners (found by running both on the same pairs of pattern and text):
Go refuses `\C`, group names beyond ASCII and groups nested a thousand deep; Go knows more names of Unicode classes;
and RE2 lets `\B` match between the bytes of one character. Everything else is handed on as it is, and it is RE2 that
says whether the pattern is well formed.
"""

import re

from refloat_common.core.regex.unicode_names import class_items

MAX_NESTED_GROUPS = 999
"""Go's limit on the height of an expression is 1000; the innermost operand takes one."""

_GROUP_NAME = re.compile(r"\(\?P?<([^>]*)>")
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]+")
_POSIX_CLASS = re.compile(r"\[:\^?[A-Za-z]*:\]")
_UNICODE_CLASS = re.compile(r"\\([pP])\{(\^?)([^}]*)\}")


class UnsupportedPatternError(ValueError):
    """A pattern that cannot be used; the text says what in it is at fault."""


def to_re2(pattern: str) -> str:
    r"""The pattern for RE2.

    Raises:
        UnsupportedPatternError: Go would refuse the pattern, although RE2 takes it; or it holds half a surrogate
            pair; or it uses the complement of `\p{LC}`, `\p{Assigned}` or `\p{Cn}` inside brackets.
    """
    try:
        pattern.encode()
    except UnicodeEncodeError as error:
        raise UnsupportedPatternError(f"invalid UTF-8 at character {error.start}") from None
    return _Translation(pattern).result()


class _Translation:
    """One walk over a pattern, copying it piece by piece."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._pieces: list[str] = []
        self._in_brackets = False
        self._depth = 0
        self._floats_between_bytes = False

    def result(self) -> str:
        while self._at < len(self._pattern):
            self._step()
        body = "".join(self._pieces)
        # Whole characters before the match keep its start off the middle of one; nothing else can get there.
        return rf"\A(?s:.*?)(?:{body})" if self._floats_between_bytes else body

    def _step(self) -> None:
        character = self._pattern[self._at]
        if character == "\\":
            self._escape()
        elif self._in_brackets:
            self._inside_brackets(character)
        elif character == "[":
            self._open_brackets()
        else:
            self._outside(character)

    def _copy(self, length: int) -> None:
        self._pieces.append(self._pattern[self._at : self._at + length])
        self._at += length

    def _outside(self, character: str) -> None:
        if character == "(":
            self._depth += 1
            if self._depth > MAX_NESTED_GROUPS:
                raise UnsupportedPatternError(f"groups nest more than {MAX_NESTED_GROUPS} deep")
            name = _GROUP_NAME.match(self._pattern, self._at)
            if name and not _ASCII_WORD.fullmatch(name[1]):
                raise UnsupportedPatternError(f"invalid named capture: {name[0]}")
        elif character == ")":
            self._depth -= 1
            if self._depth < 0:
                raise UnsupportedPatternError(f"unexpected ): {self._pattern}")
        self._copy(1)

    def _open_brackets(self) -> None:
        self._in_brackets = True
        self._copy(1)
        if self._pattern.startswith("^", self._at):
            self._copy(1)
        if self._pattern.startswith("]", self._at):  # the first one stands for itself
            self._copy(1)

    def _inside_brackets(self, character: str) -> None:
        posix = _POSIX_CLASS.match(self._pattern, self._at) if character == "[" else None
        if posix:
            self._copy(len(posix[0]))
            return
        if character == "]":
            self._in_brackets = False
        self._copy(1)

    def _escape(self) -> None:
        letter = self._pattern[self._at + 1 : self._at + 2]
        if letter in {"p", "P"}:
            self._unicode_class()
            return
        if not self._in_brackets:
            if letter == "Q":
                self._quoted()
                return
            if letter == "C":
                raise UnsupportedPatternError(r"invalid escape sequence: \C")
            self._floats_between_bytes |= letter == "B"
        self._copy(2)

    def _quoted(self) -> None:
        r"""Copies what stands between `\Q` and `\E`, or the end, where the `\E` is added: more may follow there."""
        end = self._pattern.find("\\E", self._at + 2)
        self._copy((len(self._pattern) if end < 0 else end) - self._at)
        self._pieces.append("\\E")
        self._at += 2

    def _unicode_class(self) -> None:
        found = _UNICODE_CLASS.match(self._pattern, self._at)
        if not found:
            self._copy(2)
            return
        inverted = (found[1] == "P") != (found[2] == "^")
        items = class_items(found[3], inverted=inverted)
        if items is None:
            self._copy(len(found[0]))
            return
        if items.complement and self._in_brackets:
            raise UnsupportedPatternError(f"{found[0]} cannot stand inside brackets")
        self._pieces.append(items.text if self._in_brackets else items.bracketed())
        self._at += len(found[0])

"""Lays rows out as a table for a terminal."""

from collections.abc import Sequence

GAP = 3
"""Spaces between two columns."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of columns, each as wide as its widest cell. What would break a line is shown as a space."""
    lines = [list(head), *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "".join(_line(line, widths) for line in lines)


def clean(text: str) -> str:
    """A text of somebody else's for a terminal: lines and tabs stay, what could steer the terminal is a space."""
    return "".join(character if character.isprintable() or character in "\n\t" else " " for character in text)


def _cell(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text) or "-"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width + GAP) for cell, width in zip(cells, widths, strict=True))
    return "".join(padded).rstrip() + "\n"

"""Reads the rows, and says what is wrong with them before anything is run.

One file a section, in the specification's order. Sentences are numbered within their section, steps and points of lists
included; where one sentence promises several things, a letter tells them apart.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from testkit.style.tree import ROOT

FOLDER = ROOT / "tests" / "spec" / "rows"
LIMITATION = "limitation"


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the product: in one file, this text (found there once) becomes that one."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Row:
    """One promise. A row that is held has a test and a mutant; a later one has neither.

    `instead`: for a sentence that names a limitation, what Refloat does.
    """

    section: str
    number: str
    says: str
    later: bool = False
    test: str = ""
    instead: str = ""
    mutant: tuple[Edit, ...] = ()

    @property
    def name(self) -> str:
        """How the row is called in lists: its section and number."""
        return f"{self.section} {self.number}"


@dataclass(frozen=True, slots=True)
class Silent:
    """A sentence that promises nothing of its own, and why."""

    number: str
    why: str


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the specification."""

    title: str
    rows: tuple[Row, ...]
    silent: tuple[Silent, ...] = ()


class BadRowError(ValueError):
    """A row that says too little or too much."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")


def load(folder: Path = FOLDER) -> tuple[Section, ...]:
    """All sections, in order.

    Raises:
        BadRowError: the first row that can't be used.
    """
    sections = tuple(_section(path) for path in sorted(folder.glob("*.yaml")))
    counts = Counter(row.name for section in sections for row in section.rows)
    for name, count in counts.items():
        if count > 1:
            raise BadRowError(name, "there are two rows of this name")
    return sections


def held(sections: Sequence[Section]) -> Iterator[Row]:
    """The rows that a test holds."""
    return (row for section in sections for row in section.rows if not row.later)


def later(sections: Sequence[Section]) -> Iterator[Row]:
    """The rows that are put off."""
    return (row for section in sections for row in section.rows if row.later)


def _section(path: Path) -> Section:
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    title = body["section"]
    silent = tuple(Silent(str(one["sentence"]), one["why"]) for one in body.get("silent", ()))
    return Section(title, tuple(_row(title, one) for one in body["rows"]), silent)


_KEYS = {"sentence", "says", "later", "test", "mark", "instead", "mutant"}


def _row(section: str, body: dict[str, object]) -> Row:
    number = str(body.get("sentence", "?"))
    where = f"{section} {number}"
    if unknown := set(body) - _KEYS:
        raise BadRowError(where, f"unknown keys {sorted(unknown)}")
    row = Row(
        section=section,
        number=number,
        says=str(body.get("says", "")).strip(),
        later=body.get("later") is True,
        test=str(body.get("test", "")),
        instead=str(body.get("instead", "")).strip(),
        mutant=_edits(body.get("mutant")),
    )
    if not row.says:
        raise BadRowError(where, "says nothing")
    if row.later and (row.test or row.mutant):
        raise BadRowError(where, "a later row has neither test nor mutant")
    if not row.later and not (row.test and row.mutant):
        raise BadRowError(where, "a row needs a test and a mutant")
    if (body.get("mark") == LIMITATION) != bool(row.instead):
        raise BadRowError(where, "a limitation says what is done instead, and nothing else does")
    return row


def _edits(body: object) -> tuple[Edit, ...]:
    edits: list[dict[str, str]] = body if isinstance(body, list) else [body] if isinstance(body, dict) else []
    return tuple(Edit(one["file"], one["old"].rstrip("\n"), one["new"].rstrip("\n")) for one in edits)

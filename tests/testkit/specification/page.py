"""Writes docs/specification.md from the rows."""

from collections.abc import Iterator, Sequence

from testkit.specification.rows import Row, Section, held, later
from testkit.style.tree import ROOT

PAGE = ROOT / "docs" / "specification.md"
_HEAD = """\
# The specification, sentence by sentence

Each promise of the retry-policy specification in our own words, and the test that holds it. Sentences are numbered
within their section; steps and points of lists count as sentences, and a letter tells several promises of one sentence
apart. *Limitation*: the sentence names something that does not work (yet); what Refloat does is said. *Later*: not done
yet.

`make spec` runs exactly these tests. `make spec-mutants` breaks each rule in turn, with the change that stands beside
the row in `tests/spec/rows`, and fails if its test stays green. This page is made from those files: `make spec-page`.
"""


def page(sections: Sequence[Section]) -> str:
    """The whole page."""
    return "\n".join(_lines(sections)) + "\n"


def _lines(sections: Sequence[Section]) -> Iterator[str]:
    yield _HEAD
    yield summary(sections)
    for section in sections:
        yield f"\n## {section.title}\n"
        yield "| No. | Promise | Held by |"
        yield "|---|---|---|"
        for row in section.rows:
            yield f"| {row.number} | {_promise(row)} | {_test(row)} |"
        if section.silent:
            silent = "; ".join(f"{one.number}: {one.why}" for one in section.silent)
            yield f"\nWithout a promise of their own: {silent}."


def summary(sections: Sequence[Section]) -> str:
    """How many rows there are."""
    done, put_off = len(list(held(sections))), len(list(later(sections)))
    return f"{done + put_off} rows: {done} held, {put_off} later"


def _promise(row: Row) -> str:
    text = _cell(row.says)
    if row.later:
        return f"{text} *Later.*"
    return f"{text} *Limitation.* Refloat: {_cell(row.instead)}" if row.instead else text


def _test(row: Row) -> str:
    if row.later:
        return ""
    path, _, name = row.test.partition("::")
    return f"`{path.removeprefix('tests/')}` `{name}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

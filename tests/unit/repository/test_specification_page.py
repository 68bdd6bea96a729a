"""docs/specification.md is what the rows say; the rows cover every sentence; and the tests that they name are there."""

import ast
import re
from pathlib import Path

import pytest

from testkit.specification.page import PAGE, page, summary
from testkit.specification.rows import BadRowError, Row, held, later, load
from testkit.style.tree import ROOT

SENTENCES = {
    "Overview": 6,
    "How a retry happens": 16,
    "Enabling the retry engine": 11,
    "Policy format": 9,
    "Matching semantics": 6,
    "Match fields": 7,
    "Mutating the job on retry": 21,
    "Retry budgets": 20,
    "Gang jobs": 6,
    "Pod naming and collision avoidance": 11,
    "Per-job opt-out": 3,
    "Managing policies with armadactl": 13,
    "Rollout guide for operators": 23,
}
"""How many sentences each section of the specification has."""


def test_the_page_is_what_the_rows_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(load()), "run: make spec-page"


def test_every_sentence_has_a_row_or_a_reason_for_having_none() -> None:
    sections = load()
    assert [section.title for section in sections] == list(SENTENCES)
    for section in sections:
        numbers = [*(row.number for row in section.rows), *(one.number for one in section.silent)]
        told = {int(re.sub(r"[a-z]$", "", number)) for number in numbers}
        assert told == set(range(1, SENTENCES[section.title] + 1)), section.title


def test_only_the_permissions_are_put_off() -> None:
    assert [row.name for row in later(load())] == [
        "Managing policies with armadactl 12",
        "Managing policies with armadactl 13a",
        "Managing policies with armadactl 13b",
    ]


def _functions(path: Path) -> set[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("row", tuple(held(load())), ids=lambda row: row.name)
def test_the_test_of_each_row_is_there_and_its_mutant_applies(row: Row) -> None:
    file, _, name = row.test.partition("::")
    assert name in _functions(ROOT / file)
    for edit in row.mutant:
        assert (ROOT / edit.file).read_text(encoding="utf-8").count(edit.old) == 1, edit.file
        assert edit.old != edit.new


def test_the_summary_counts_what_is_held_and_what_is_put_off() -> None:
    sections = load()
    done, put_off = len(list(held(sections))), len(list(later(sections)))
    assert summary(sections) == f"{done + put_off} rows: {done} held, {put_off} later"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{sentence: 1, says: x}", "a row needs a test and a mutant"),
        ("{sentence: 1, says: x, later: true, test: t}", "a later row has neither test nor mutant"),
        ("{sentence: 1, later: true}", "says nothing"),
        ("{sentence: 1, says: x, later: true, mark: limitation}", "a limitation says what is done instead"),
        ("{sentence: 1, says: x, later: true, because: y}", r"unknown keys \['because'\]"),
        ("{sentence: 1, says: x, later: true}, {sentence: 1, says: y, later: true}", "there are two rows of this name"),
    ],
)
def test_a_row_that_says_too_little_or_too_much_is_refused(tmp_path: Path, row: str, problem: str) -> None:
    (tmp_path / "one.yaml").write_text(f"section: S\nrows: [{row}]\n", encoding="utf-8")
    with pytest.raises(BadRowError, match=f"S 1: {problem}"):
        load(tmp_path)

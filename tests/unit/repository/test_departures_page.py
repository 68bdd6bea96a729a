"""Each departure of the engine, the scheduler and the validation that docs/departures.md lists is held by a test."""

import ast
import re

import pytest

from testkit.style.tree import ROOT

PAGE = ROOT / "docs" / "departures.md"
_, _, SECTION = PAGE.read_text(encoding="utf-8").partition("## Engine, scheduler and validation")
ROWS = [line for line in SECTION.splitlines() if line.startswith("| ") and not line.startswith("| What |")]


def test_every_row_has_all_its_cells() -> None:
    assert len(ROWS) > 30
    cells = {row.split(" | ")[0].removeprefix("| "): len(row.split(" | ")) for row in ROWS}
    assert set(cells.values()) == {2, 4}
    assert len(cells) == len(ROWS), "two rows about the same thing"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split(" | ")[0].removeprefix("| "))
def test_the_test_that_is_named_is_there(row: str) -> None:
    found = re.search(r"`(tests/[\w/]+\.py)::(\w+)` \|$", row)
    assert found is not None, "no test is named"
    body = ast.parse((ROOT / found[1]).read_text(encoding="utf-8")).body
    assert found[2] in {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}

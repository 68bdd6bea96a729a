"""docs/configuration.md tells every key with its unit and default, as the settings models have them."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from refloat_common.core.categories.config import ErrorCategories
from refloat_common.core.settings import Duration, FileModel, Flag, Whole
from refloat_executor.settings import ExecutorSettings
from refloat_host.settings import HostSettings
from testkit.style.settings_table import differences
from testkit.style.tree import ROOT

PAGE = ROOT / "docs" / "configuration.md"


RULES = "application.errorCategories."


def _page(heading: str, model: type[BaseModel], *, prefix: str = "", without: str = "-") -> list[str]:
    return list(differences(PAGE.read_text(encoding="utf-8"), heading, model, prefix=prefix, without=without))


def test_the_page_tells_every_key_of_the_executor() -> None:
    assert _page("Executor", ExecutorSettings, without=RULES) == []


def test_the_page_tells_every_key_of_the_rules() -> None:
    assert _page("Error categories", ErrorCategories, prefix=RULES) == []


def test_the_page_tells_every_key_of_the_host() -> None:
    assert _page("Host", HostSettings) == []


class _Shape(StrEnum):
    ROUND = "round"
    FLAT = "flat"


class _Inner(FileModel):
    shape: _Shape = _Shape.ROUND
    names: tuple[str, ...] = ("a", "b")


class _Sample(FileModel):
    enabled: Flag = True
    wait_for: Annotated[Duration, Field(gt=timedelta())] = timedelta(seconds=90)
    max_items: Whole | None = None
    where: str
    inner: _Inner = _Inner()
    many: tuple[_Inner, ...] = ()


GOOD = """
## Sample

| Key | Unit | Default | Meaning |
|---|---|---|---|
| `enabled` | true or false | `true` | Whether. |
| `waitFor` | duration | `1m30s` | How long. |
| `maxItems` | whole number | unset | How many. |
| `where` | text | required | Where. |
| `inner.shape` | `round` or `flat` | `round` | Which. |
| `inner.names` | list of text | `a`, `b` | Who. |
| `many[].shape` | `round` or `flat` | `round` | Which. |
| `many[].names` | list of text | `a`, `b` | Who. |

## Next
"""


def test_a_page_that_agrees_has_no_differences() -> None:
    assert list(differences(GOOD, "Sample", _Sample)) == []


@pytest.mark.parametrize(
    ("said", "instead", "finding"),
    [
        ("| `where` | text | required | Where. |\n", "", "missing row: | `where` | text | required |  |"),
        ("`1m30s`", "`90s`", "waitFor is told as ('duration', '`90s`'), the model says ('duration', '`1m30s`')"),
        ("| `where` | text | required | Where. |", "| `where` | text | required |  |", "missing row: | `where`"),
        (
            "\n## Next",
            "| `old` | text | empty | Gone. |\n\n## Next",
            "old stands in the table of Sample but not in the model",
        ),
    ],
)
def test_each_difference_is_named(said: str, instead: str, finding: str) -> None:
    found = list(differences(GOOD.replace(said, instead), "Sample", _Sample))
    assert len(found) == 1
    assert finding in found[0]

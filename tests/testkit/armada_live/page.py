"""Shows the list of departures in the section of `docs/departures.md` that is about events.

`python -m testkit.armada_live.page`, run in tests/, writes it anew.
"""

import json
from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Any

from testkit.armada_live.departures import ANYTHING, Departure, Departures, EndingCase, FieldCase, Later, read
from testkit.style.tree import ROOT

PAGE = ROOT / "docs/departures.md"
BEGIN, END = "<!-- events: begin -->\n", "<!-- events: end -->\n"
NOT_SET = "–"  # noqa: RUF001  the dash of an empty cell
WIDTH = 125


def event_section(listed: Departures) -> str:
    """The section as it should stand between the two marks."""
    parts = [_departure(departure) for departure in listed.departures]
    return "\n".join([*parts, _later(listed.later)])


def replaced(page: str, text: str) -> str:
    """The page with this text as its section."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def _departure(departure: Departure) -> str:
    lines = [
        f"### {departure.title}",
        "",
        fill(departure.reason, WIDTH),
        "",
        fill(f"*Rule:* {departure.source}", WIDTH),
        "",
    ]
    if departure.fields:
        lines += ["| Scenarios | Event | Field | Armada | Refloat |", "|---|---|---|---|---|"]
        lines += [row for case in departure.fields for row in _field_rows(case)] + [""]
    for case in departure.endings:
        lines += [*_ending(case), ""]
    return "\n".join(lines)


def _field_rows(case: FieldCase) -> Iterator[str]:
    scenarios = "all" if case.scenarios == ("*",) else ", ".join(f"`{name}`" for name in case.scenarios)
    event = case.event if case.at is None else f"{case.event} ({_ordinal(case.at)} event)"
    for field in sorted(case.fields):
        yield f"| {scenarios} | {event} | {field} | {_cell(case.armada, field)} | {_cell(case.refloat, field)} |"


def _ending(case: EndingCase) -> Iterable[str]:
    names = [next(iter(event)) for event in case.refloat]
    yield f"In `{case.scenario}` Armada goes on with {_names(case.armada)}, Refloat with {_names(names)}:"
    yield ""
    yield "| Event | Fields |"
    yield "|---|---|"
    for event in case.refloat:
        [(name, fields)] = event.items()
        yield f"| {name} | {'; '.join(f'{key} {_cell(fields, key)}' for key in sorted(fields))} |"


def _later(later: Iterable[Later]) -> str:
    lines = ["### Not compared to their end yet", "", "| Scenarios | What the executor can't see yet |", "|---|---|"]
    rows = [f"| {', '.join(f'`{name}`' for name in each.scenarios)} | {each.awaits} |" for each in later]
    return "\n".join([*lines, *rows, ""]) if rows else ""


def _cell(values: Any, field: str) -> str:
    value = values.get(field)
    if value is None:
        return NOT_SET
    if value == ANYTHING:
        return "set"
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) or "\n" in value else value
    return f"`{text.replace('|', chr(92) + '|')}`"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _ordinal(at: int) -> str:
    return f"{at + 1}th" if at > 2 else ("1st", "2nd", "3rd")[at]


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), event_section(read())), encoding="utf-8")

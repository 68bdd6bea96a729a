"""Draws the demo on a terminal: progress, rates, categories; nothing at all where there is no terminal."""

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import IO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from refloat_cli.demo.judge import Course, Tally

STATES = ("waiting", "leased", "running", "retrying", "succeeded", "failed")
BAR_WIDTH = 50


class Screen:
    """A live table. `update` redraws it; there is no thread."""

    def __init__(self, file: IO[str], *, wanted: bool) -> None:
        self._console = Console(file=file)
        self._live: Live | None = None
        if wanted and self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def showing(self) -> AbstractContextManager[object]:
        """The terminal is ours for as long as the context lasts."""
        return self._live or nullcontext()

    def update(
        self,
        seconds: float,
        courses: Mapping[str, Course],
        tallies: Mapping[str, Tally],
        events: int,
        crew: Mapping[str, str],
    ) -> None:
        """Draw how things stand."""
        if self._live is None:
            return
        states = Counter(course.state for course in courses.values())
        ended = states["succeeded"] + states["failed"]
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            ProgressBar(total=max(1, len(courses)), completed=ended, width=BAR_WIDTH),
            Text(
                f"{ended}/{len(courses)} jobs   {events} events   {events / max(seconds, 0.1):.0f}/s   {seconds:.1f} s"
            ),
        )
        parts = "   ".join(f"{name}: {state}" for name, state in crew.items())
        self._live.update(Group(Text(parts), bar, _states(states), _categories(tallies)), refresh=True)


def _states(states: Counter[str]) -> Table:
    table = Table(box=None)
    for state in STATES:
        table.add_column(state, justify="right", min_width=9)
    table.add_row(*(str(states[state]) for state in STATES))
    return table


def _categories(tallies: Mapping[str, Tally]) -> Table:
    table = Table(box=None)
    table.add_column("category", min_width=14)
    for column in ("failures", "retries", "terminal"):
        table.add_column(column, justify="right", min_width=9)
    for name, tally in tallies.items():
        table.add_row(name, str(tally.failures), str(tally.retries), str(tally.terminal))
    return table

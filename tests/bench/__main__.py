"""`python -m tests.bench [--out FILE] [--rows a,b]`: measures, prints and writes the rows.

A row is a module `row_NAME` beside this one with a `measure() -> Row`.
"""

import argparse
import dataclasses
import importlib
import json
import pkgutil
import sys
from pathlib import Path

from .harness import Row

HERE = Path(__file__).parent
PREFIX = "row_"


def row_names() -> list[str]:
    """The rows that can be measured."""
    found = (module.name for module in pkgutil.iter_modules([str(HERE)]))
    return sorted(name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX))


def measure(name: str) -> Row:
    """Measures one row."""
    module = importlib.import_module(f".{PREFIX}{name}", __package__)
    row = module.measure()
    assert isinstance(row, Row)
    return row


def as_line(row: Row) -> str:
    """A row for reading."""
    verdict = "met" if row.met else "MISSED"
    figures = f"ours {row.ours:,.4g}, theirs {row.theirs:,.4g}, ratio {row.ratio:.3g}"
    return f"{row.name}: {figures}; {row.target}: {verdict}" + (f" ({row.reason})" if row.reason else "")


def main(arguments: list[str]) -> int:
    """Exit 0 even for a missed target, which is explained and not hidden; 2 for a row that does not exist."""
    known = row_names()
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--out", type=Path, help="write the rows as JSON to this file")
    parser.add_argument("--rows", help=f"comma-separated, from: {', '.join(known)} (default: all)")
    options = parser.parse_args(arguments)
    wanted = options.rows.split(",") if options.rows else known
    if unknown := sorted(set(wanted) - set(known)):
        parser.error(f"unknown row {', '.join(unknown)}; known: {', '.join(known)}")
    rows = []
    for name in wanted:
        rows.append(measure(name))
        print(as_line(rows[-1]), flush=True)  # noqa: T201  # a command prints
    if options.out:
        options.out.write_text(json.dumps({"rows": [dataclasses.asdict(row) for row in rows]}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m testkit.specification tests | mutants | page`: see the Makefile."""

import argparse
import os
import sys

from testkit.specification import mutants, running
from testkit.specification.page import PAGE, page
from testkit.specification.rows import load


def main(words: list[str]) -> int:
    """Do what the first word says; the others narrow it down."""
    parser = argparse.ArgumentParser(prog="testkit.specification")
    parser.add_argument("what", choices=("tests", "mutants", "page"))
    parser.add_argument("--workers", type=int, default=max(1, os.cpu_count() or 1))
    known, rest = parser.parse_known_args(words)
    sections = load()
    if known.what == "tests":
        return running.run(sections, rest)
    if known.what == "mutants":
        return mutants.run(sections, rest, known.workers)
    PAGE.write_text(page(sections), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

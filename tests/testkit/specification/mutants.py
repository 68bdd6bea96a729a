"""Breaks the rule of each row in a copy of the tree, and sees whether the row's test notices."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from testkit.specification.rows import Row, Section, held
from testkit.style.tree import ROOT

OK, FAILED = 0, 1
COPIED = ("common", "executor", "scheduler", "tests", "configs", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "armada_live", "real_node.jsonl", "public_cases.jsonl", "bench")
SOURCES = ("common", "executor", "scheduler", "tests")
TEST_FAILED = 1
"""pytest's exit code; any other says that the tree can't be tested at all."""

TIMEOUT_S = 180.0
SHOWN_CHARACTERS = 90
_OLDEST_MTIME_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: why it does not count as killed, or how the test noticed."""

    row: Row
    problem: str = ""
    noticed: str = ""

    def __str__(self) -> str:
        became, why = ("SURVIVES", self.problem) if self.problem else ("killed  ", self.noticed)
        return f"{became}  {self.row.name}: {why}"


@dataclass(slots=True)
class Copy:
    """One copy of the tree. Python compares sizes and whole seconds, so each change gets a time of its own."""

    root: Path
    _clock: Iterator[int] = field(default_factory=lambda: count(_OLDEST_MTIME_S))

    @contextmanager
    def broken(self, row: Row) -> Iterator[str]:
        """The copy with the row's rule broken; gives what keeps it from being broken, if anything does."""
        before: dict[Path, str] = {}
        try:
            yield self._apply(row, before)
        finally:
            for path, text in before.items():
                self._write(path, text)

    def _apply(self, row: Row, before: dict[Path, str]) -> str:
        for edit in row.mutant:
            path = self.root / edit.file
            if not path.is_file():
                return f"{edit.file} does not exist"
            text = path.read_text(encoding="utf-8")
            before.setdefault(path, text)
            if (times := text.count(edit.old)) != 1:
                return f"{edit.file} holds the text of the mutant {times} times"
            self._write(path, text.replace(edit.old, edit.new))
        return ""

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        at_s = next(self._clock)
        os.utime(path, (at_s, at_s))

    def test(self, name: str) -> tuple[int, str]:
        """Run one test on the copy; pytest's exit code, and the first thing that it found wrong."""
        paths = [str(self.root / source) for source in SOURCES]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", name]
        try:
            done = subprocess.run(
                command, cwd=self.root, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return TEST_FAILED, "it never ends"
        found = (line[1:].strip() for line in done.stdout.splitlines() if line.startswith("E  "))
        return done.returncode, next(found, "")[:SHOWN_CHARACTERS]


def run(sections: Sequence[Section], words: Sequence[str], workers: int) -> int:
    """Try the mutants of all rows, or of those whose name contains one of the words; a line for each."""
    rows = [row for row in held(sections) if not words or any(word in row.name for word in words)]
    problems = 0
    with TemporaryDirectory(prefix="refloat-mutants-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(workers):
            copies.put(_copied(Path(folder) / str(number)))
        with ThreadPoolExecutor(workers) as pool:
            lock = threading.Lock()

            def one(row: Row) -> Verdict:
                copy = copies.get()
                try:
                    verdict = _tried(copy, row)
                finally:
                    copies.put(copy)
                with lock:
                    sys.stdout.write(f"{verdict}\n")
                    sys.stdout.flush()
                return verdict

            problems = sum(bool(verdict.problem) for verdict in pool.map(one, rows))
    sys.stdout.write(f"{len(rows)} mutants: {len(rows) - problems} killed, {problems} not\n")
    return FAILED if problems else OK


def _copied(target: Path) -> Copy:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, target / name)
    return Copy(target)


def _tried(copy: Copy, row: Row) -> Verdict:
    with copy.broken(row) as obstacle:
        if obstacle:
            return Verdict(row, obstacle)
        code, noticed = copy.test(row.test)
    if code == TEST_FAILED:
        return Verdict(row, noticed=noticed)
    why = "stays green" if code == 0 else f"could not be run (pytest: {code})"
    return Verdict(row, f"{row.test} {why}")

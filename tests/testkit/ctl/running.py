"""refloatctl as a person uses it, against a served API: its exit code and what it printed."""

import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from anyio import to_thread

from refloat_ctl.main import main
from testkit.host.api import ServedApi


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of one command."""

    code: int
    out: str
    err: str = ""


@dataclass(frozen=True, slots=True)
class Ctl:
    """Runs commands in this process; files that it is given are written to `folder`."""

    api: ServedApi
    folder: Path
    capsys: pytest.CaptureFixture[str]

    async def __call__(self, *words: str) -> Ran:
        self.capsys.readouterr()
        code = await to_thread.run_sync(main, [*words, "--armadaUrl", self.api.address])
        printed = self.capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    def file(self, text: str, name: str = "file.yaml") -> str:
        """The path of a new file."""
        path = self.folder / name
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return str(path)


Run = Callable[..., Awaitable[Ran]]


def done(out: str = "") -> Ran:
    """A command that did what was asked, and printed this."""
    return Ran(0, textwrap.dedent(out).lstrip("\n"))


def refused(why: str) -> Ran:
    """A command that could not do what was asked, and said why in this one line."""
    return Ran(1, "", f"Error: {why}\n")

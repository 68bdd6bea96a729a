"""The command line: words, flags, and what is loaded for them."""

import importlib
import os
import subprocess
import sys

import pytest

from refloat_ctl.commands.tree import LEAVES, parse
from refloat_ctl.core.errors import UsageError
from refloat_ctl.main import main

REQUIRED = "the following arguments are required"
SLOW = ("grpc", "google.protobuf", "armada_client", "pydantic", "yaml", "msgspec")


@pytest.mark.parametrize("code", sorted({leaf.code for leaf in LEAVES} | {"files:create", "files:update"}))
def test_every_command_has_its_code(code: str) -> None:
    module, _, function = code.partition(":")
    assert callable(getattr(importlib.import_module(f"refloat_ctl.commands.{module}"), function))


@pytest.mark.parametrize(
    "words", [("--armadaUrl", "a:1", "get", "queue", "q"), ("get", "queue", "q", "--armadaUrl", "a:1")]
)
def test_the_servers_flags_may_stand_anywhere(words: tuple[str, ...]) -> None:
    code, options = parse(words)
    assert (code, options.armada_url, options.name, options.config) == ("queues:get", "a:1", "q", None)


@pytest.mark.parametrize(
    ("words", "code", "file"),
    [
        (("create", "-f", "x"), "files:create", "x"),
        (("update", "-f", "x"), "files:update", "x"),
        (("create", "retry-policy", "-f", "x"), "policies:create", "x"),
        (("update", "retry-policy", "--file", "x"), "policies:update", "x"),
        (("submit", "x"), "jobs:submit", "x"),
    ],
)
def test_files(words: tuple[str, ...], code: str, file: str) -> None:
    found, options = parse(words)
    assert (found, options.file) == (code, file)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ((), None),
        (("--retry-policies", "a,b"), ["a", "b"]),
        (("--retry-policies", "a", "--retry-policies", "b,c"), ["a", "b", "c"]),
        (("--retry-policies", ""), []),
        (("--retry-policies", "a, b"), ["a", " b"]),
    ],
)
def test_lists_of_policies(words: tuple[str, ...], given: list[str] | None) -> None:
    assert parse(("create", "queue", "q", *words))[1].retry_policies == given


@pytest.mark.parametrize(
    ("words", "cordoned"),
    [
        ((), None),
        (("--cordon",), True),
        (("--no-cordon",), False),
        (("--cordon=true",), True),
        (("--cordon=false",), False),
    ],
)
def test_a_switch_may_be_written_as_in_go(words: tuple[str, ...], cordoned: object) -> None:
    assert parse(("update", "queue", *words, "q"))[1].cordon is cordoned


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["get", "queue", "q\udcff"], "'q\\udcff' is no UTF-8"),
        (["get"], "get: what is missing; see refloatctl --help"),
        (["create"], "refloatctl create: give a kind or -f FILE; see refloatctl create --help"),
        (["frobnicate"], "argument COMMAND: invalid choice: 'frobnicate'"),
        (["create", "retry-policy"], f"{REQUIRED}: -f/--file; see refloatctl create retry-policy --help"),
        (["get", "queue", "q", "-o", "xml"], "argument -o/--output: invalid choice: 'xml'"),
        (["get", "jobs", "q", "--limit", "0"], "argument --limit: '0' is no number of jobs; see refloatctl get jobs"),
        (["get", "queue", "q", "--out", "json"], "unrecognized arguments: --out json; see refloatctl --help"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert str(caught.value).startswith(why)
    assert main(words) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)


def test_without_words_the_help_is_shown_and_the_usage_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("usage: refloatctl ")


def test_reading_a_command_line_loads_nothing_slow() -> None:
    code = (
        "import sys, refloat_ctl.main; refloat_ctl.main.usage(); print([m for m in sys.argv[1:] if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code, *SLOW], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_part_that_is_not_installed_is_named_with_the_way_to_get_it() -> None:
    code = (
        "import sys; sys.modules['grpc'] = None; import refloat_ctl.main as m; sys.exit(m.main(['get', 'executors']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (
        1,
        "Error: needs grpc, which is not installed: pip install 'refloat[ctl]'\n",
    )


def test_a_terminal_without_a_character_shows_its_number() -> None:
    code = "import sys, refloat_ctl.main as m; sys.exit(m.main(['create', 'queue', '--help']))"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "KEY=VALUE,\\u2026" in ran.stdout

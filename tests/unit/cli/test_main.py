"""The command finds its parts, loads no other, and says in one line what is wrong."""

import argparse
import subprocess
import sys
import types
from collections.abc import Callable

import pytest

from refloat_cli.main import COMMANDS, Command, main, usage


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert shown == usage()
    assert all(f"  {' '.join(name)} " in shown for name in COMMANDS)


def test_no_argument_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", usage())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["executer", "run"], "unknown command executer run; did you mean executor run?"),
        (["host"], "unknown command host; did you mean host check-config or host run?"),
        (["frobnicate"], "unknown command frobnicate; see refloat --help"),
        (["--bogus"], "unknown command --bogus; see refloat --help"),
    ],
)
def test_unknown_words_are_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], complaint: str) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"refloat: {complaint}\n")


def test_a_missing_extra_is_named_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> types.ModuleType:
        raise ModuleNotFoundError(f"No module named {name!r}", name="kubernetes_asyncio")

    monkeypatch.setattr("refloat_cli.main.importlib.import_module", missing)
    assert main(["executor", "run"]) == 1
    assert capsys.readouterr().err == (
        "refloat executor run: needs kubernetes_asyncio, which is not installed: pip install 'refloat[executor]'\n"
    )


def test_a_missing_module_of_our_own_is_our_own_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, ("demo",), Command("refloat_cli.no_such_part", "", ""))
    with pytest.raises(ModuleNotFoundError, match=r"refloat_cli\.no_such_part"):
        main(["demo"])


def _part(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]) -> None:
    """Let `refloat demo` be a part with one option."""
    part = types.ModuleType("part")
    vars(part).update(add_arguments=lambda parser: parser.add_argument("--seed", type=int), run=run)
    monkeypatch.setitem(sys.modules, "refloat_cli.part", part)
    monkeypatch.setitem(COMMANDS, ("demo",), Command("refloat_cli.part", "", "a part"))


def test_arguments_reach_the_part_and_its_answer_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    _part(monkeypatch, lambda arguments: 1 if arguments.seed == 7 else 99)
    assert main(["demo", "--seed", "7"]) == 1


@pytest.mark.parametrize(
    ("words", "code"), [(["demo", "--sed", "7"], 2), (["demo", "--seed", "x"], 2), (["demo", "-h"], 0)]
)
def test_the_arguments_of_a_part_are_checked_by_its_parser(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], code: int
) -> None:
    _part(monkeypatch, lambda _: 99)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == code
    captured = capsys.readouterr()
    assert "usage: refloat demo " in (captured.err if code else captured.out)


def test_an_interrupted_part_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    _part(monkeypatch, interrupted)
    assert main(["demo"]) == 130


def test_neither_does_one_that_is_interrupted_while_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: str) -> types.ModuleType:
        raise KeyboardInterrupt

    monkeypatch.setattr("refloat_cli.main.importlib.import_module", interrupted)
    assert main(["demo"]) == 130


@pytest.mark.timeout(60)
def test_every_command_loads_and_can_be_run() -> None:
    load = "m = importlib.import_module({!r})\nm.add_arguments(argparse.ArgumentParser())\nassert callable(m.run)"
    code = "\n".join(["import argparse, importlib", *(load.format(command.module) for command in COMMANDS.values())])
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)


def test_the_command_itself_loads_no_part() -> None:
    code = (
        "import sys, refloat_cli.main\n"
        "heavy = {'zmq', 'pydantic', 'msgspec', 'anyio', 'asyncio', 'rich', 'yaml', 'sqlalchemy'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=15)


def test_the_version_is_the_distribution_s() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "refloat_cli.main", "--version"], capture_output=True, text=True, check=True, timeout=15
    )
    assert done.stdout.startswith("refloat 0.")

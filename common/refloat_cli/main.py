"""The command `refloat`: finds the part that was asked for, loads that part alone, and runs it.

Exit codes of every command: 0 fine, 1 a finding or a refused request, 2 wrong usage. With `--output json` standard
output holds JSON alone; progress and complaints go to standard error.
"""

import argparse
import difflib
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its module, the extra that it needs, and its line in the help.

    The module has `add_arguments(parser)`, and `run(arguments)` that returns the exit code.
    """

    module: str
    extra: str
    summary: str


COMMANDS: dict[tuple[str, ...], Command] = {
    ("executor", "run"): Command("refloat_executor.commands.run", "executor", "run the daemon of one cluster"),
    ("executor", "check-config"): Command(
        "refloat_executor.commands.check_config", "executor", "check an executor's configuration and its rules"
    ),
    ("executor", "explain"): Command(
        "refloat_executor.commands.explain", "executor", "show which rule names a pod's failure, and why"
    ),
    ("host", "run"): Command("refloat_host.commands.run", "host", "run the standalone host with the plugin"),
    ("host", "check-config"): Command("refloat_host.commands.check_config", "host", "check a host's configuration"),
    ("keys", "new"): Command("refloat_cli.keys", "", "make the key pair of an executor or a scheduler"),
    ("demo",): Command(
        "refloat_cli.demo.command", "rules,executor,host,demo", "run the whole system and watch it retry"
    ),
}
"""Every command by its words. Modules are named, not imported: a command starts as fast as its own part."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; the process's exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in {"-h", "--help"}:
        (sys.stdout if words else sys.stderr).write(usage())
        return 0 if words else EXIT_USAGE
    if words == ["--version"]:
        sys.stdout.write(f"refloat {_version()}\n")
        return 0
    for length in (2, 1):
        name = tuple(words[:length])
        if len(name) == length and name in COMMANDS:
            try:
                return _run(name, words[length:])
            except KeyboardInterrupt:
                # Also while the part is still being loaded.
                return EXIT_INTERRUPTED
    return _refuse(words)


def usage() -> str:
    """The help of the command itself: one line for each command."""
    lines = [f"  {' '.join(words):22} {command.summary}" for words, command in COMMANDS.items()]
    head = (
        "usage: refloat COMMAND [ARGUMENT ...]\n       refloat COMMAND --help\n       refloat --version\n\ncommands:\n"
    )
    return head + "\n".join(lines) + "\n"


def _run(name: tuple[str, ...], arguments: list[str]) -> int:
    command = COMMANDS[name]
    try:
        module = importlib.import_module(command.module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("refloat_"):
            raise
        remedy = f"pip install 'refloat[{command.extra}]'"
        sys.stderr.write(f"refloat {' '.join(name)}: needs {error.name}, which is not installed: {remedy}\n")
        return EXIT_REFUSED
    parser = argparse.ArgumentParser(prog=f"refloat {' '.join(name)}", description=command.summary, allow_abbrev=False)
    module.add_arguments(parser)
    run: Callable[[argparse.Namespace], int] = module.run
    return run(parser.parse_args(arguments))


def _refuse(words: list[str]) -> int:
    groups = {" ".join(name) for name in COMMANDS}
    asked = " ".join(word for word in words[:2] if not word.startswith("-")) or words[0]
    near = sorted(name for name in groups if name.startswith(asked)) or difflib.get_close_matches(asked, groups, n=1)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; see refloat --help"
    sys.stderr.write(f"refloat: unknown command {asked}{hint}\n")
    return EXIT_USAGE


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - costs more than all the rest, and is rarely asked

    return version("refloat")


if __name__ == "__main__":
    sys.exit(main())

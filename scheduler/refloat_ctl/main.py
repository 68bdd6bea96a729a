"""The command `refloatctl`: reads the command line, loads the one command's code, runs it.

Exit codes: 0 done, 1 refused or not found, 2 wrong usage. What went wrong is one line on standard error.
"""

import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence

from refloat_ctl.commands.tree import parse, usage
from refloat_ctl.core.errors import CommandError

EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

_GRPC_QUIET = {"GRPC_VERBOSITY": "NONE", "GLOG_minloglevel": "3"}
"""gRPC's C core writes about broken connections to standard error, which holds one line of ours."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the process's exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character shows its number; nothing is lost for it.
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(words)
    except CommandError as error:
        sys.stderr.write(f"Error: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone; nobody is left to tell. Python must not flush into the pipe at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_REFUSED


def _run(words: list[str]) -> int:
    if not words:
        sys.stderr.write(usage())
        return EXIT_USAGE
    if words == ["--version"]:
        from importlib.metadata import version  # noqa: PLC0415  costs more than all the rest, and is rarely asked

        sys.stdout.write(f"refloatctl {version('refloat')}\n")
        return 0
    code, options = parse(words)
    for name, value in _GRPC_QUIET.items():
        os.environ.setdefault(name, value)
    module_name, _, function = code.partition(":")
    try:
        module = importlib.import_module(f"refloat_ctl.commands.{module_name}")
        session = importlib.import_module("refloat_ctl.commands.session").Session(options)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("refloat_"):
            raise
        sys.stderr.write(f"Error: needs {error.name}, which is not installed: pip install 'refloat[ctl]'\n")
        return EXIT_REFUSED
    command: Callable[..., None] = getattr(module, function)
    command(session)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`refloat demo`: arguments, the folder, and what is printed."""

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

import anyio

from refloat_cli.demo.layout import configs
from refloat_cli.demo.processes.crew import NotReadyError, ProcessEndedError
from refloat_cli.demo.result import Result
from refloat_cli.demo.scenario import MAX_JOBS, load_scenario, plan
from refloat_cli.demo.screen import Screen
from refloat_cli.demo.stage import Clusters, Play, fake_clusters, perform
from refloat_common.adapters.config_files import ConfigFileError
from refloat_common.core.settings import SettingsError
from refloat_host.core.errors import RequestRefusedError

REFUSED, WRONG_USAGE = 1, 2
MAX_CLUSTERS = 8
SIGNALLED = 128
_CANNOT_GO_ON = (ProcessEndedError, NotReadyError, RequestRefusedError, OSError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = "Run fake clusters, executors and a host as processes; let jobs fail by script; count."
    parser.add_argument("--jobs", type=_within(1, MAX_JOBS), default=60, metavar="N", help="how many (default 60)")
    parser.add_argument("--clusters", type=_within(1, MAX_CLUSTERS), default=2, metavar="N", help="default 2")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for the clusters' uids and chances")
    parser.add_argument("--scenario", type=Path, metavar="FILE", help="instead of configs/demo/scenario.yaml")
    add_common_arguments(parser, "oom-1")


def add_common_arguments(parser: argparse.ArgumentParser, example: str) -> None:
    """Adds what `show` looks at; `example` is a job to explain."""
    parser.add_argument(
        "--explain", default="", metavar="JOB", help=f"show the verdicts over one job, such as {example}"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave logs, journals and settings in this new folder")
    parser.add_argument("--output", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    """0 if every job ended as its script says; 1 if not, or if a part did not run."""
    try:
        scenario = load_scenario(args.scenario or configs() / "demo" / "scenario.yaml")
    except (ConfigFileError, SettingsError) as error:
        return _complain(str(error))
    return show(Play(scenario, plan(scenario, args.jobs), args.clusters, args.seed, args.explain), args)


def show(play: Play, args: argparse.Namespace, clusters: Clusters = fake_clusters) -> int:
    """Play it on these clusters and print what it came to; the exit code as of `run`."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            # Under nohup the closing of the terminal is ignored, and stays so.
            signal.signal(number, _terminated)
    names = [job.name for job in play.planned]
    if play.explain and play.explain not in names:
        return _complain(f"--explain: no job is named {play.explain!r}; the first is {names[0]}", WRONG_USAGE)
    screen = Screen(sys.stderr if args.output == "json" else sys.stdout, wanted=True)
    try:
        if args.keep is not None:
            args.keep.mkdir(parents=True)
            result = anyio.run(perform, play, args.keep.resolve(), screen, clusters)
        else:
            with tempfile.TemporaryDirectory(prefix="refloat-demo-") as folder:
                result = anyio.run(perform, play, Path(folder), screen, clusters)
    except ExceptionGroup as group:
        cause = _first(group)
        if isinstance(cause, _CANNOT_GO_ON):
            return _complain(str(cause))
        raise
    except _CANNOT_GO_ON as error:
        return _complain(str(error))
    _print(result, args.output)
    return 0 if result.ok else REFUSED


def _print(result: Result, output: str) -> None:
    text = json.dumps(result.to_json(), indent=2) if output == "json" else result.to_text()
    sys.stdout.write(f"{text}\n")


def _complain(text: str, code: int = REFUSED) -> int:
    sys.stderr.write(f"refloat demo: {text}\n")
    return code


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _within(least: int, most: int) -> "type[int]":
    def number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"must be {least} to {most}, got {value}")
        return value

    return number  # type: ignore[return-value]  # argparse takes any callable


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    """Unwind, so that every process is ended and the folder removed."""
    raise SystemExit(SIGNALLED + number)

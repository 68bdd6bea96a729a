"""`refloat executor run`: runs the daemon of one cluster until it is told to stop."""

import argparse
import sys
from pathlib import Path

import anyio

from refloat_common.adapters.config_files import ConfigFileError, load_settings
from refloat_common.adapters.failpoints import FailpointRefusedError
from refloat_common.adapters.zmq_link.keys import KeyFileError
from refloat_common.core.categories import CategoryConfigError, compile_categories
from refloat_common.core.settings import SettingsError
from refloat_executor.adapters.health import PortTakenError
from refloat_executor.adapters.journal import (
    JournalBrokenError,
    JournalInUseError,
    JournalTooNewError,
    NetworkFileSystemError,
)
from refloat_executor.adapters.kube import KubeConfigError
from refloat_executor.commands.check_config import check_endpoints
from refloat_executor.daemon.process import run_process
from refloat_executor.settings import ExecutorSettings

REFUSED = 1
_CANNOT_START = (
    CategoryConfigError,
    ConfigFileError,
    FailpointRefusedError,
    JournalBrokenError,
    JournalInUseError,
    JournalTooNewError,
    KeyFileError,
    KubeConfigError,
    NetworkFileSystemError,
    OSError,
    PortTakenError,
    SettingsError,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = "Run the executor of one cluster. It logs JSON lines to standard error."
    parser.add_argument(
        "--config", action="append", required=True, type=Path, metavar="FILE", help="settings; later files over earlier"
    )


def run(args: argparse.Namespace) -> int:
    """Runs until SIGTERM or SIGINT (0). 1: it could not start or had to end. 3: a newer process has taken over."""
    code = REFUSED
    try:
        settings = load_settings(ExecutorSettings, args.config)
        # Before anything is opened: what is wrong with the rules should not wait for what is wrong with the world.
        compile_categories(settings.application.error_categories)
        check_endpoints(settings)
        code = anyio.run(run_process, settings, backend_options={"use_uvloop": False})
    except* _CANNOT_START as group:
        # What goes wrong once the link is open comes out of its group of tasks.
        sys.stderr.write(f"refloat executor run: {_first(group)}\n")
    return code


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error

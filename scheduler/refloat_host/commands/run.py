"""`refloat host run`: runs the host with its scheduler plugin until it is told to stop."""

import argparse
import sys
from pathlib import Path

import anyio
from sqlalchemy.exc import SQLAlchemyError

from refloat_common.adapters.config_files import ConfigFileError, load_settings
from refloat_common.adapters.failpoints import FailpointRefusedError
from refloat_common.adapters.zmq_link.keys import KeyFileError
from refloat_common.core.settings import SettingsError
from refloat_host.adapters.plugins import PluginMissingError
from refloat_host.adapters.store.errors import (
    StoreBrokenError,
    StoreForeignError,
    StoreLockedError,
    StoreTooNewError,
    StoreUrlError,
)
from refloat_host.commands.check_config import check_endpoints
from refloat_host.daemon.process import run_process
from refloat_host.settings import HostSettings

REFUSED = 1
_CANNOT_START = (
    ConfigFileError,
    FailpointRefusedError,
    KeyFileError,
    OSError,
    PluginMissingError,
    SettingsError,
    StoreBrokenError,
    StoreForeignError,
    StoreLockedError,
    StoreTooNewError,
    StoreUrlError,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = "Run the host with its scheduler plugin. It logs JSON lines to standard error."
    parser.add_argument(
        "--config", action="append", required=True, type=Path, metavar="FILE", help="settings; later files over earlier"
    )


def run(args: argparse.Namespace) -> int:
    """Runs until SIGTERM or SIGINT (0). 1: it could not start or had to end."""
    try:
        settings = load_settings(HostSettings, args.config)
        check_endpoints(settings)
        return anyio.run(run_process, settings, backend_options={"use_uvloop": False})
    except _CANNOT_START as error:
        sys.stderr.write(f"refloat host run: {error}\n")
    except SQLAlchemyError as error:
        sys.stderr.write(f"refloat host run: store.url: the database can't be used: {str(error).splitlines()[0]}\n")
    return REFUSED

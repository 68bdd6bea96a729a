"""`refloat host check-config`: reads the settings as the daemon does, and says what is wrong or doubtful."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from refloat_common.adapters.config_files import ConfigFileError, load_settings
from refloat_common.adapters.zmq_link.options import EndpointRefusedError, check_endpoint
from refloat_common.core.settings import SettingsError
from refloat_host.adapters.plugins import PluginMissingError, find_plugin
from refloat_host.adapters.store.errors import StoreUrlError
from refloat_host.adapters.store.opening import read_url
from refloat_host.settings import HostSettings

OK, FINDING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = "Check a host's settings. Nothing is contacted, and no store is opened."
    parser.add_argument(
        "--config", action="append", required=True, type=Path, metavar="FILE", help="settings; later files over earlier"
    )


def run(args: argparse.Namespace) -> int:
    """0 if the daemon would take these settings, warnings or not; 1 if it would not."""
    try:
        settings = load_settings(HostSettings, args.config)
        check_endpoints(settings)
        read_url(settings.store.url)
        find_plugin(settings.plugin)
    except (ConfigFileError, PluginMissingError, SettingsError, StoreUrlError) as error:
        sys.stderr.write(f"refloat host check-config: {error}\n")
        return FINDING
    for warning in (*settings.warnings(), *warnings_about(settings)):
        sys.stderr.write(f"warning: {warning}\n")
    retry = settings.scheduling.retry_policy
    print(f"host: settings are good, retry engine {'on' if retry.enabled else 'off'}")
    return OK


def check_endpoints(settings: HostSettings) -> None:
    """Refuse addresses that can't be listened on.

    Raises:
        SettingsError: which one, and why.
    """
    link = settings.link
    for key, endpoint in (("link.control", link.control), ("link.reports", link.reports)):
        try:
            check_endpoint(endpoint, secure=not link.insecure)
        except EndpointRefusedError as error:
            raise SettingsError(key, str(error)) from None


def warnings_about(settings: HostSettings) -> Iterator[str]:
    """What is allowed but probably not meant."""
    if settings.link.insecure:
        yield "link.insecure: anybody on this machine can speak for any executor"
    retry = settings.scheduling.retry_policy
    if not retry.enabled and retry.default_policy_name:
        yield "scheduling.retryPolicy.defaultPolicyName is set, but enabled is false: no policy decides anything"

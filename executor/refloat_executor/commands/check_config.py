"""`refloat executor check-config`: reads the settings as the daemon does, and says what is wrong or doubtful."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from refloat_common.adapters.config_files import ConfigFileError, load_settings
from refloat_common.adapters.zmq_link.options import EndpointRefusedError, check_endpoint
from refloat_common.core.categories import CategoryConfigError, ErrorCategories, compile_categories
from refloat_common.core.settings import SettingsError
from refloat_executor.settings import ExecutorSettings

OK, FINDING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.description = "Check an executor's settings and its rules. Nothing is contacted."
    parser.add_argument(
        "--config", action="append", required=True, type=Path, metavar="FILE", help="settings; later files over earlier"
    )


def run(args: argparse.Namespace) -> int:
    """0 if the daemon would take these settings, warnings or not; 1 if it would not."""
    try:
        settings = load_settings(ExecutorSettings, args.config)
        compile_categories(settings.application.error_categories)
        check_endpoints(settings)
    except (ConfigFileError, SettingsError, CategoryConfigError) as error:
        sys.stderr.write(f"refloat executor check-config: {error}\n")
        return FINDING
    for warning in warnings_about(settings):
        sys.stderr.write(f"warning: {warning}\n")
    rules = sum(len(category.rules) for category in settings.application.error_categories.categories)
    print(f"executor {settings.application.cluster_id}: settings are good, {rules} rules")
    return OK


def check_endpoints(settings: ExecutorSettings) -> None:
    """Refuse addresses that can't be connected to.

    Raises:
        SettingsError: which one, and why.
    """
    link = settings.link
    for key, endpoint in (("link.control", link.control), ("link.reports", link.reports)):
        try:
            check_endpoint(endpoint, secure=not link.insecure)
        except EndpointRefusedError as error:
            raise SettingsError(key, str(error)) from None


def warnings_about(settings: ExecutorSettings) -> Iterator[str]:
    """What is allowed but probably not meant."""
    kube = settings.kubernetes
    if kube.node_id_label not in kube.tracked_node_labels:
        yield (
            f"kubernetes.trackedNodeLabels lacks {kube.node_id_label!r} (nodeIdLabel): the scheduler can't see the "
            "label, so no retry can avoid the node of the attempt before"
        )
    yield from _about_rules(settings.application.error_categories)
    if settings.link.insecure:
        yield "link.insecure: anybody on this machine can speak for this executor"
    if kube.max_terminated_pods == 0:
        yield "kubernetes.maxTerminatedPods is 0: pods of Retain categories are removed as soon as they are reported"


def _about_rules(categories: ErrorCategories) -> Iterator[str]:
    if not categories.enabled:
        yield "application.errorCategories.enabled is false: failures get no category, so no retry rule can match them"
    elif not any(category.action == "Delete" for category in categories.categories):
        yield (
            "no category has action: Delete: a retry on the same cluster finds the name of its pod taken, "
            "and its lease is returned"
        )

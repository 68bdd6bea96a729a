"""Finds the kinds that have a module."""

import importlib
import pkgutil

from testkit.vectors import kinds
from testkit.vectors.model import Kind


def known_kinds() -> dict[str, Kind]:
    """From the name of each kind to its module's `KIND`."""
    modules = sorted(module.name for module in pkgutil.iter_modules(kinds.__path__, f"{kinds.__name__}."))
    found = [importlib.import_module(name).KIND for name in modules]
    return {kind.name: kind for kind in found}

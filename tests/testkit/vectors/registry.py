"""Finds the kinds that have a module."""

import importlib
import pkgutil

from testkit.vectors import kinds
from testkit.vectors.model import Kind


def known_kinds() -> dict[str, Kind]:
    """From the name of each kind to its module's `KIND`."""
    modules = sorted(found.name for found in pkgutil.walk_packages(kinds.__path__, f"{kinds.__name__}."))
    loaded = [importlib.import_module(name) for name in modules]
    found = [module.KIND for module in loaded if hasattr(module, "KIND")]
    return {kind.name: kind for kind in found}

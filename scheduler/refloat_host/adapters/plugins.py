"""Finds the scheduler plugin among the installed packages, by its entry point."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

GROUP = "refloat.scheduler_plugins"


class PluginMissingError(Exception):
    """No installed package offers a plugin of this name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        listed = ", ".join(known) if known else "none"
        super().__init__(f"plugin: {name!r} is not installed; the entry-point group {GROUP} has: {listed}")


def find_plugin(name: str) -> Callable[..., Any]:
    """What makes the plugin of this name; its parameters are those of `refloat_scheduler.plugin.create`.

    Raises:
        PluginMissingError: there is none.
    """
    found = entry_points(group=GROUP)
    if name not in found.names:
        raise PluginMissingError(name, tuple(sorted(found.names)))
    made: Callable[..., Any] = found[name].load()
    return made

"""Which files the rules are about."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
"""The root of the source tree."""

SOURCES: dict[str, frozenset[str]] = {
    "common": frozenset({"refloat_common", "refloat_cli"}),
    "executor": frozenset({"refloat_executor", "refloat_fakekube"}),
    "scheduler": frozenset({"refloat_scheduler", "refloat_host", "refloat_ctl"}),
}
"""Each root folder and the packages that it holds; nothing else may stand there."""


def python_files(*folders: str) -> Iterator[Path]:
    """All modules below the given folders of the tree, sorted."""
    for folder in folders or (*SOURCES, "tests"):
        yield from sorted(path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts)


def core_files() -> Iterator[Path]:
    """All modules of all pure packages."""
    return (path for path in python_files(*SOURCES) if "core" in path.relative_to(ROOT).parts)


def shown(path: Path) -> str:
    """A path as findings print it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)

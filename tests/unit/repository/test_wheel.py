"""What a user installs: every package, the configurations, and nothing of the tests."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from testkit.style.tree import ROOT, SOURCES, python_files

PACKAGES = sorted(package for packages in SOURCES.values() for package in packages)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of the tree as it is, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=15)
    (path,) = folder.glob("refloat-*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_packages_and_their_metadata_alone(wheel: zipfile.ZipFile) -> None:
    tops = {Path(name).parts[0] for name in wheel.namelist()}
    assert sorted(top for top in tops if not top.endswith(".dist-info")) == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(wheel.namelist())


def test_every_module_of_the_tree_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    modules = {str(path.relative_to(ROOT / folder)) for folder in SOURCES for path in python_files(folder)}
    assert modules - set(wheel.namelist()) == set()


def test_every_configuration_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    files = {
        f"refloat_common/configs/{path.relative_to(ROOT / 'configs')}"
        for path in (ROOT / "configs").rglob("*")
        if path.is_file()
    }
    assert files - set(wheel.namelist()) == set()
    assert any(name.endswith(".yaml") for name in files)


def test_the_commands_and_the_plugin_have_their_entry_points(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert wheel.read(name).decode().strip().splitlines() == [
        "[console_scripts]",
        "refloat = refloat_cli.main:main",
        "refloatctl = refloat_ctl.main:main",
        "",
        "[pytest11]",
        "refloat_conformance = refloat_scheduler.conformance.option",
        "",
        "[refloat.scheduler_plugins]",
        "refloat = refloat_scheduler.plugin:create",
    ]

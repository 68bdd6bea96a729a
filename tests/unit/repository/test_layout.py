"""The tree holds what its packaging says, speaks of no machine, and stays importable where it must."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from testkit.style.tree import ROOT, SOURCES, python_files, shown

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home|Users)/\w")
TEXT_FOLDERS = (*SOURCES, "tests", "docs", "configs", ".ci")
TEXT_SUFFIXES = {".py", ".md", ".yaml", ".yml", ".toml", ".json", ".ini", ".txt", ".sh", ".mod", ".sum", ""}
FORBIDDEN_FOR_PLUGIN = "{'grpc','sqlalchemy','kubernetes_asyncio','refloat_executor','refloat_host'}"


def test_each_root_folder_holds_its_packages_and_nothing_else() -> None:
    found = {
        folder: {entry.name for entry in (ROOT / folder).iterdir() if entry.name != "__pycache__"} for folder in SOURCES
    }
    assert found == {folder: set(packages) for folder, packages in SOURCES.items()}


def test_every_package_says_that_it_is_typed_and_what_it_is() -> None:
    for folder, packages in SOURCES.items():
        for package in packages:
            assert (ROOT / folder / package / "py.typed").is_file(), package
    silent = [
        shown(path)
        for path in python_files(*SOURCES)
        if path.name == "__init__.py" and "migrations" not in path.parts and not path.read_text().startswith('"""')
    ]
    assert silent == []


def _machine_paths() -> Iterator[str]:
    top = [path for path in ROOT.iterdir() if path.is_file()]
    below = [path for folder in TEXT_FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted([*top, *below]):
        if path.suffix not in TEXT_SUFFIXES or "__pycache__" in path.parts or "data" in path.relative_to(ROOT).parts:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if MACHINE_PATH.search(line):
                yield f"machine-path: {shown(path)}:{number}: {line.strip()}"


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert list(_machine_paths()) == []


def test_the_plugin_loads_nothing_of_the_other_parts() -> None:
    code = f"import sys, refloat_scheduler.plugin; assert not {FORBIDDEN_FOR_PLUGIN} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=15)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_change_log_speaks_of_this_version() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert f"## {version[1]}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_relative_link_of_the_documents_leads_somewhere() -> None:
    pages: list[Path] = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    broken = [
        f"{shown(page)} -> {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []

"""Files, functions and folders stay small enough to be read at one sitting."""

from pathlib import Path

from testkit.style.sizes import full_folders, long_files, long_functions
from testkit.style.tree import python_files


def test_no_file_is_too_long() -> None:
    assert list(long_files(python_files())) == []


def test_no_function_is_too_long() -> None:
    assert list(long_functions(python_files())) == []


def test_no_folder_is_too_full() -> None:
    assert list(full_folders(python_files())) == []


def test_the_rules_see_what_breaks_them(tmp_path: Path) -> None:
    long = tmp_path / "long.py"
    long.write_text("def f():\n" + "    x = 1\n" * 400)
    names = [tmp_path / f"m{number}.py" for number in range(11)]
    assert list(long_files([long])) == [f"file-length: {long} has 401 lines; at most 400"]
    assert list(long_functions([long])) == [f"function-length: {long}:1 f has 401 lines; at most 60"]
    assert list(full_folders([*names, tmp_path / "__init__.py"])) == [
        f"folder-size: {tmp_path} holds 11 modules; at most 10"
    ]

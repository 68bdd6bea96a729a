"""Files that a person names."""

import io
import sys
from pathlib import Path

import pytest

from refloat_ctl.adapters.files import MAX_FILE_BYTES, read_config, read_value
from refloat_ctl.core.errors import FileError


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: yes")))
    assert read_value("-") == {"a": True}


def test_a_mark_of_byte_order_is_not_content(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xef\xbb\xbfa: 1")
    assert read_value(str(file)) == {"a": 1}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a: \xff", "is not UTF-8"),
        (b"a" * (MAX_FILE_BYTES + 1), f"is larger than {MAX_FILE_BYTES} bytes"),
        (b"a: 1\na: 2", 'line 2: key "a" is written twice'),
    ],
)
def test_a_file_that_can_not_be_used_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_value(str(file))
    assert str(caught.value) == f"file {file} error: {problem}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a directory"):
        read_value(str(tmp_path))


def test_the_configuration_is_the_users_own_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_config(None) is None
    (tmp_path / ".refloatctl.yaml").write_text("armadaUrl: own:1")
    other = tmp_path / "other.yaml"
    other.write_text("armadaUrl: other:1")
    assert read_config(None) == {"armadaUrl": "own:1"}
    assert read_config(str(other)) == {"armadaUrl": "other:1"}
    with pytest.raises(FileError, match="no such file or directory"):
        read_config(str(tmp_path / "nowhere.yaml"))

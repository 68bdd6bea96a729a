"""Key files: made once, kept to their owner, followed while they change."""

import os
import stat
from pathlib import Path

import pytest
import zmq

from refloat_cli.main import main
from refloat_common.adapters.config_files import ConfigFileError, read_tree
from refloat_common.adapters.zmq_link.keys import KeyBook, KeyFileError, Secret, make_pair, read_public, read_secret

KEY_A, KEY_B = "a" * 40, "b" * 40


def test_a_pair_is_two_files_of_which_only_the_owner_reads_the_secret(tmp_path: Path) -> None:
    public_path, secret_path, public = make_pair(tmp_path / "keys", "east-1")
    assert (public_path.name, secret_path.name) == ("east-1.public", "east-1.secret")
    assert stat.S_IMODE(secret_path.stat().st_mode) == 0o600
    assert read_public(public_path) == public.encode() == read_secret(secret_path).public()


def test_two_pairs_are_different(tmp_path: Path) -> None:
    assert make_pair(tmp_path, "a")[2] != make_pair(tmp_path, "b")[2]


@pytest.mark.parametrize("half", ["public", "secret"])
def test_nothing_is_overwritten(tmp_path: Path, half: str) -> None:
    there = tmp_path / f"east-1.{half}"
    there.write_text("precious")
    with pytest.raises(KeyFileError, match="is there already, and is not overwritten"):
        make_pair(tmp_path, "east-1")
    assert there.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == [there.name]


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "east-1.secret").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyFileError, match="is there already"):
        make_pair(tmp_path, "east-1")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "-", "a b", "x" * 64, "ü", "a\n"])
def test_a_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyFileError, match="is no name: at most 63 letters"):
        make_pair(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602])
def test_a_secret_that_others_could_read_is_refused(tmp_path: Path, mode: int) -> None:
    _, secret_path, _ = make_pair(tmp_path, "east-1")
    secret_path.chmod(mode)
    with pytest.raises(KeyFileError, match=f"its mode is {mode:04o}: others could read it"):
        read_secret(secret_path)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_secret_that_only_its_owner_can_read_is_taken(tmp_path: Path, mode: int) -> None:
    _, secret_path, _ = make_pair(tmp_path, "east-1")
    secret_path.chmod(mode)
    read_secret(secret_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_secret_of_somebody_else_is_refused(tmp_path: Path) -> None:
    _, secret_path, _ = make_pair(tmp_path, "east-1")
    os.chown(secret_path, 12345, -1)
    with pytest.raises(KeyFileError, match="belongs to user 12345"):
        read_secret(secret_path)


@pytest.mark.parametrize("text", ["", "short", "x" * 41, "x" * 39 + "~", "\x00" * 40, "é" * 40])
def test_a_file_without_a_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k.secret"
    path.write_text(text)
    path.chmod(0o600)
    for read in (read_secret, read_public):
        with pytest.raises(KeyFileError, match="does not hold a key of 40 characters"):
            read(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"no\.secret: No such file or directory"):
        read_secret(tmp_path / "no.secret")


def test_a_secret_does_not_show_itself() -> None:
    secret = Secret(b"s" * 40)
    assert "sss" not in f"{secret} {secret!r} {[secret]}"


# ---- the list of executors' keys


def listed(path: Path, text: str) -> KeyBook:
    path.write_text(text)
    return KeyBook(path, read_tree)


def test_a_key_speaks_for_the_executor_that_it_stands_under(tmp_path: Path) -> None:
    book = listed(tmp_path / "k.yaml", f"executors:\n  east: [{KEY_A}, {KEY_B}]\n  west: []\n")
    assert [book.executor_of(key) for key in (KEY_A, KEY_B, "c" * 40, "")] == ["east", "east", "", ""]


def test_an_empty_list_lets_nobody_in(tmp_path: Path) -> None:
    assert listed(tmp_path / "k.yaml", "").executor_of(KEY_A) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("executors: 7", "executors: input should be a map of keys to values"),
        ("executors: {east: key}", "executors.east: input should be a list"),
        ("executors: {east: [short]}", "executors.east[0]: input should be a public key of 40 characters"),
        (f"executors: {{'a b': [{KEY_A}]}}", "input should be an executor's name: at most 63 letters"),
        (f"executors: {{east: [{KEY_A}], west: [{KEY_A}]}}", "stands under both east and west"),
        ("executor: {}", "executor: unknown key; did you mean executors"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused_with_the_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(KeyFileError) as caught:
        listed(tmp_path / "k.yaml", text)
    assert str(caught.value).startswith(f"{tmp_path}/k.yaml: ")
    assert problem in str(caught.value)


def test_a_changed_list_counts_at_the_next_look(tmp_path: Path) -> None:
    path = tmp_path / "k.yaml"
    book = listed(path, f"executors: {{east: [{KEY_A}]}}")
    assert not book.refresh()
    path.write_text(f"executors: {{east: [{KEY_B}], other: []}}")
    assert book.refresh()
    assert (book.executor_of(KEY_A), book.executor_of(KEY_B)) == ("", "east")
    path.write_text(f"# the same\nexecutors: {{east: [{KEY_B}]}}")
    assert not book.refresh()


def test_a_list_that_breaks_is_told_once_and_the_last_good_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "k.yaml"
    book = listed(path, f"executors: {{east: [{KEY_A}]}}")
    path.write_text("executors: [")
    with pytest.raises(ConfigFileError):
        book.refresh()
    assert not book.refresh()
    path.unlink()
    with pytest.raises(ConfigFileError):
        book.refresh()
    assert not book.refresh()
    assert book.executor_of(KEY_A) == "east"
    path.write_text(f"executors: {{west: [{KEY_A}]}}")
    assert book.refresh()
    assert book.executor_of(KEY_A) == "west"


# ---- the command


@pytest.mark.parametrize("name", ["east-1", "7", "null"])
def test_the_command_makes_a_pair_and_prints_a_list_that_can_be_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", "new", "--out", str(tmp_path), name]) == 0
    printed = capsys.readouterr().out
    secret = (tmp_path / f"{name}.secret").read_text().strip()
    assert secret not in printed
    book = listed(tmp_path / "k.yaml", printed[printed.index("executors:\n") :])
    assert book.executor_of(zmq.curve_public(secret.encode()).decode()) == name


def test_the_command_says_in_one_line_what_it_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "new", "--out", str(tmp_path), "east-1"]) == 0
    capsys.readouterr()
    assert main(["keys", "new", "--out", str(tmp_path), "east-1"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"refloat keys new: {tmp_path}/east-1.public: is there already, and is not overwritten\n"


def test_the_command_without_a_folder_is_used_wrongly() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["keys", "new", "east-1"])
    assert caught.value.code == 2

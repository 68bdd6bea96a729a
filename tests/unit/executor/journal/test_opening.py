"""What is checked before a journal is trusted."""

import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from refloat_common.core.messages import Lease
from refloat_executor.adapters.journal import (
    JournalBrokenError,
    JournalInUseError,
    JournalTooNewError,
    NetworkFileSystemError,
    open_journal,
)
from refloat_executor.adapters.journal import opening as opening_module
from refloat_executor.adapters.journal.filesystem import file_system_of
from refloat_executor.core.ledger.values.records import Accepted

ACCEPT = Accepted(Lease(run="r", job="j", queue="q", job_set="s", namespace="jobs", pod_spec=b"{}"))


@pytest.fixture
def ids() -> Callable[[], str]:
    numbers: Iterator[int] = count(1)
    return lambda: f"jid-{next(numbers)}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "executor.journal"


def write_one(path: Path, ids: Callable[[], str]) -> str:
    journal = open_journal(path, ids)
    journal.sql.append([ACCEPT], 1)
    journal.close()
    return journal.loaded.journal_id


def test_a_journal_is_begun_and_found_again(path: Path, ids: Callable[[], str]) -> None:
    first = write_one(path, ids)
    again = open_journal(path, ids)
    assert (again.loaded.journal_id, again.loaded.fresh, again.set_aside_as) == (first, False, None)
    assert list(again.loaded.books.entries) == ["r"]
    again.close()


def test_what_a_killed_process_committed_is_there(path: Path, ids: Callable[[], str]) -> None:
    journal = open_journal(path, ids)
    journal.sql.append([ACCEPT], 1)
    copy = path.with_name("copy")
    for suffix in ("", "-wal"):
        copy.with_name(copy.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())
    journal.close()
    found = open_journal(copy, ids)
    assert list(found.loaded.books.entries) == ["r"]
    found.close()


def test_every_commit_reaches_the_disk(path: Path, ids: Callable[[], str]) -> None:
    journal = open_journal(path, ids)
    asked = {
        name: journal._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")
    }
    assert asked == {"synchronous": 2, "journal_mode": "wal"}
    journal.close()


def test_two_processes_can_not_share_a_journal(path: Path, ids: Callable[[], str]) -> None:
    journal = open_journal(path, ids)
    with pytest.raises(JournalInUseError, match="is in use by another process"):
        open_journal(path, ids)
    journal.close()
    open_journal(path, ids).close()


def test_a_newer_layout_is_refused_and_left_alone(path: Path, ids: Callable[[], str]) -> None:
    write_one(path, ids)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(JournalTooNewError, match="has layout 7, and this version knows 1 at most"):
        open_journal(path, ids)
    assert path.read_bytes() == before


def _overwrite_middle(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[4096:8192] = b"\xaa" * 4096
    path.write_bytes(raw)


def _flip_a_bit(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE record SET body = CAST(X'00' || substr(body, 2) AS BLOB)")
    connection.close()


def _replace_by_text(path: Path) -> None:
    path.write_bytes(b"this is no database " * 1000)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize("damage", [_overwrite_middle, _flip_a_bit, _replace_by_text, _cut])
def test_a_damaged_journal_is_set_aside_and_a_new_one_begins(
    path: Path, ids: Callable[[], str], damage: Callable[[Path], None]
) -> None:
    old = write_one(path, ids)
    damage(path)
    wreck = path.read_bytes()
    journal = open_journal(path, ids)
    assert journal.set_aside_as == path.with_name("executor.journal.corrupt")
    assert journal.set_aside_as.read_bytes()[:4000] == wreck[:4000]
    assert (journal.loaded.fresh, journal.loaded.journal_id != old) == (True, True)
    assert journal.loaded.books.entries == {}
    journal.close()


def test_a_second_wreck_does_not_overwrite_the_first(path: Path, ids: Callable[[], str]) -> None:
    for name in ("executor.journal.corrupt", "executor.journal.corrupt.1"):
        write_one(path, ids)
        _replace_by_text(path)
        journal = open_journal(path, ids)
        assert journal.set_aside_as == path.with_name(name)
        journal.close()


def test_a_journal_can_be_given_up(path: Path, ids: Callable[[], str]) -> None:
    old = write_one(path, ids)
    open_journal(path, ids).set_aside()
    journal = open_journal(path, ids)
    assert journal.loaded.journal_id != old
    assert path.with_name("executor.journal.corrupt").exists()
    journal.close()


def test_an_empty_file_is_a_new_journal(path: Path, ids: Callable[[], str]) -> None:
    path.parent.mkdir()
    path.touch()
    journal = open_journal(path, ids)
    assert (journal.loaded.fresh, journal.set_aside_as) == (True, None)
    journal.close()


def test_a_folder_in_its_place_is_an_error_that_says_so(path: Path, ids: Callable[[], str]) -> None:
    path.mkdir(parents=True)
    with pytest.raises(JournalBrokenError, match="unable to open database file"):
        open_journal(path, ids)


def test_network_file_systems_are_refused(path: Path, ids: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening_module, "file_system_of", lambda _folder: "nfs4")
    with pytest.raises(NetworkFileSystemError, match=r"on a network file system \(nfs4\): a local disk is needed"):
        open_journal(path, ids)
    assert not path.exists()


MOUNTS = """\
21 1 8:1 / / rw - ext4 /dev/sda1 rw
30 21 0:40 / {here} rw - nfs4 server:/export rw
31 30 0:41 / {here}/disk rw shared:1 - xfs /dev/sdb rw
32 30 0:41 / {here}/with\\040space rw - tmpfs tmpfs rw
33 31 0:42 / {here}/disk rw - btrfs /dev/sdc rw
broken line
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("", "nfs4"), ("share/deep", "nfs4"), ("disk/x", "btrfs"), ("with space/x", "tmpfs"), ("..", "ext4")],
)
def test_the_innermost_and_newest_mount_counts(tmp_path: Path, folder: str, kind: str) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS.format(here=tmp_path / "here"))
    assert file_system_of(tmp_path / "here" / folder, table) == kind


def test_where_the_kernel_does_not_tell_nothing_is_known(tmp_path: Path) -> None:
    assert file_system_of(tmp_path, tmp_path / "absent") == ""

"""The journal behind its thread."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from refloat_common.core.messages import Report, ReportKind
from refloat_executor.adapters.journal import (
    InlineJournal,
    JournalBrokenError,
    JournalFullError,
    ThreadedJournal,
    open_journal,
)
from refloat_executor.core.ledger.values.records import Record, Reported

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def reported(seq: int) -> Reported:
    return Reported(seq, Report(kind=ReportKind.SUCCEEDED, run=f"r{seq}", job="j"))


@asynccontextmanager
async def journal_at(path: Path) -> AsyncIterator[ThreadedJournal]:
    journal = ThreadedJournal(open_journal(path, lambda: "jid"))
    try:
        yield journal
    finally:
        await journal.close()


async def test_what_was_appended_is_there_after_a_restart(tmp_path: Path) -> None:
    async with journal_at(tmp_path / "j") as journal:
        await journal.append([reported(1), reported(2)], 5)
        assert [report.run for report in await journal.reports(1, 9, 1 << 20)] == ["r1", "r2"]
    async with journal_at(tmp_path / "j") as journal:
        assert journal.loaded.books.next_seq == 3
        await journal.prune(0, 1 << 20, 0)
        used, oldest = await journal.sizes()
        assert (used > 0, oldest) == (True, 1)


async def test_whoever_waits_shares_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with journal_at(tmp_path / "j") as journal:
        batches: list[int] = []
        append = journal._opened.sql.append

        def counted(records: Sequence[Record], at_ms: int) -> None:
            batches.append(len(records))
            append(records, at_ms)

        monkeypatch.setattr(journal._opened.sql, "append", counted)
        async with anyio.create_task_group() as tasks:
            for seq in range(1, 41):
                tasks.start_soon(journal.append, [reported(seq)], 5)
        assert sum(batches) == 40
        assert len(batches) < 10


async def test_appends_and_reads_keep_their_order(tmp_path: Path) -> None:
    async with journal_at(tmp_path / "j") as journal, anyio.create_task_group() as tasks:
        found: list[int] = []

        async def read() -> None:
            found.append(len(await journal.reports(1, 9, 1 << 20)))

        tasks.start_soon(journal.append, [reported(1)], 5)
        tasks.start_soon(read)
        tasks.start_soon(journal.append, [reported(2)], 5)
        tasks.start_soon(read)
        await anyio.lowlevel.checkpoint()
    assert found == [1, 2]


async def test_no_room_is_told_to_whoever_waits_and_later_ones_may_succeed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with journal_at(tmp_path / "j") as journal:
        append = journal._opened.sql.append

        def full(_records: Sequence[Record], _at_ms: int) -> None:
            raise JournalFullError("no room")

        monkeypatch.setattr(journal._opened.sql, "append", full)
        with pytest.raises(JournalFullError):
            await journal.append([reported(1)], 5)
        monkeypatch.setattr(journal._opened.sql, "append", append)
        await journal.append([reported(1)], 5)


async def test_a_failed_sync_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with journal_at(tmp_path / "j") as journal:
        append = journal._opened.sql.append

        def broken(_records: Sequence[Record], _at_ms: int) -> None:
            raise JournalBrokenError("disk I/O error")

        monkeypatch.setattr(journal._opened.sql, "append", broken)
        with pytest.raises(JournalBrokenError):
            await journal.append([reported(1)], 5)
        monkeypatch.setattr(journal._opened.sql, "append", append)
        with pytest.raises(JournalBrokenError, match="disk I/O error"):
            await journal.append([reported(1)], 5)
        assert await journal.reports(1, 9, 1 << 20) == []


async def test_a_waiter_that_gives_up_takes_nothing_with_it(tmp_path: Path) -> None:
    async with journal_at(tmp_path / "j") as journal:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await journal.append([reported(1)], 5)
        assert len(await journal.reports(1, 9, 1 << 20)) == 1


async def test_a_journal_that_was_given_up_is_moved_away(tmp_path: Path) -> None:
    async with journal_at(tmp_path / "j") as journal:
        await journal.set_aside()
    assert (tmp_path / "j.corrupt").exists()
    assert not (tmp_path / "j").exists()


async def test_the_inline_journal_does_the_same() -> None:
    connection = sqlite3.connect(":memory:")
    journal = InlineJournal(connection, "jid")
    await journal.append([reported(1), reported(2)], 5)
    assert [report.run for report in await journal.reports(2, 9, 1 << 20)] == ["r2"]
    await journal.prune(0, 1 << 20, 0)
    assert (await journal.sizes())[1] == 1
    await journal.set_aside()
    await journal.close()
    again = InlineJournal(connection, "other")
    assert (again.loaded.journal_id, again.loaded.books.next_seq) == ("jid", 3)
    connection.close()

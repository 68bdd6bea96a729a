"""What a process ends with."""

import os
import signal
from collections.abc import Mapping

import anyio
import pytest

from refloat_executor.adapters.journal import JournalBrokenError
from refloat_executor.daemon.linking import JournalBehindError, PassiveError
from refloat_executor.daemon.process import run_until_signal

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Told:
    """An executor that runs until it is stopped, or fails at once."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self._stopping = anyio.Event()

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._work)

    async def _work(self) -> None:
        if self._error is not None:
            raise self._error
        os.kill(os.getpid(), signal.SIGTERM)
        await self._stopping.wait()

    def stop(self) -> None:
        self._stopping.set()


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (None, 0, "the executor was asked to stop"),
        (PassiveError(), 3, "a newer process of this executor has taken over: this one ends"),
        (JournalBehindError(7), 1, "the scheduler has reports of this journal up to 7"),
        (JournalBrokenError("disk I/O error"), 1, "the journal can't be written: disk I/O error"),
    ],
)
async def test_exit_codes(error: Exception | None, code: int, said: str) -> None:
    lines: list[str] = []

    def log(_level: str, sentence: str, _values: Mapping[str, object]) -> None:
        lines.append(sentence)

    assert await run_until_signal(Told(error), log) == code
    assert len(lines) == 1
    assert lines[0].startswith(said)


async def test_a_defect_is_not_hidden() -> None:
    with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
        await run_until_signal(Told(ZeroDivisionError()), lambda _level, _sentence, _values: None)

"""refloatctl and an empty host for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from testkit.ctl.running import Ctl
from testkit.host.api import ServedApi, served_api


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[ServedApi]:
    async with served_api(tmp_path) as served:
        yield served


@pytest.fixture
def ctl(api: ServedApi, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ctl:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Ctl(api, tmp_path, capsys)

"""A management API over an empty store, for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from testkit.host.api import ServedApi, served_api


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[ServedApi]:
    async with served_api(tmp_path) as served:
        yield served

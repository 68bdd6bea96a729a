"""A fresh host for each test."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from refloat_scheduler.conformance.option import OPTION
from refloat_scheduler.conformance.subject import Factory, FactoryNotFoundError, Subject, find_factory, opened

Open = Callable[[], AbstractAsyncContextManager[Subject]]


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Says once, before any test, what is missing."""
    name = config.getoption(OPTION, None)
    if name is None:
        raise pytest.UsageError(f"{OPTION} MODULE:NAME says which host is looked at; see docs/hosts.md")
    try:
        find_factory(name)
    except FactoryNotFoundError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.fixture
def anyio_backend() -> str:
    """The suite runs on asyncio, as the plugin does."""
    return "asyncio"


@pytest.fixture
def factory_name(pytestconfig: pytest.Config) -> str:
    """`MODULE:NAME`."""
    return str(pytestconfig.getoption(OPTION))


@pytest.fixture
def factory(factory_name: str) -> Factory:
    """The factory of hosts."""
    return find_factory(factory_name)


@pytest.fixture
def again(factory: Factory, tmp_path: Path) -> Open:
    """Opens the store of this test (once more)."""
    return lambda: opened(factory, tmp_path)


@pytest.fixture
async def subject(again: Open) -> AsyncIterator[Subject]:
    """A host on an empty store."""
    async with again() as made:
        yield made

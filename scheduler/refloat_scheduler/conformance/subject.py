"""What the suite needs of a host beside the contract: ways to bring about and to look at what the contract leaves open.

A factory gives a `Subject` for a folder: the store is kept there, so that it is found again by whoever opens the folder
next. It may be a function or a class; what it returns is a context manager, plain or asynchronous.
"""

import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol, TypeAlias

from refloat_common.core.ids import JobId, RunId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.messages import Lease
from refloat_scheduler.core.effects import LateReported
from refloat_scheduler.core.events import Event
from refloat_scheduler.service.contract import ExecutorView, Host, PolicyDocument


class Subject(Protocol):
    """A host that is open on a store."""

    @property
    def host(self) -> Host:
        """What the plugin would be given."""

    def put_policy(self, document: PolicyDocument) -> Awaitable[None]:
        """Store a retry policy, as an administrator does."""

    def put_queue(self, name: str, retry_policies: Sequence[str]) -> Awaitable[None]:
        """Store a queue with these policies, in this order."""

    def submit(self, queue: str, job_set: str, pod_spec: JsonObject) -> Awaitable[JobId]:
        """Take a job, as from a user."""

    def lease_round(self, views: Sequence[ExecutorView]) -> Awaitable[Sequence[Lease]]:
        """Let the host's own leasing look once at these executors; gives what would be offered after the commit."""

    def stream(self, queue: str, job_set: str) -> Awaitable[Sequence[Event]]:
        """The events of a job set, as a reader of the public stream gets them."""

    def verdict_of(self, job_id: JobId, run_id: RunId) -> Awaitable[JsonObject | None]:
        """The stored explanation of the verdict over a run; None if there is none."""

    def late_reports_of(self, run_id: RunId) -> Awaitable[Sequence[LateReported]]:
        """The reports of a run that came too late, oldest first."""

    def refusing(self) -> AbstractContextManager[None]:
        """For as long as this lasts the store can commit nothing: its disk is full, or its server is gone."""


Opened: TypeAlias = AbstractContextManager[Subject] | AbstractAsyncContextManager[Subject]
Factory: TypeAlias = Callable[[Path], Opened]


class FactoryNotFoundError(ValueError):
    """The option names nothing that could be called."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"--host-factory {name}: {why}")


def find_factory(name: str) -> Factory:
    """The factory of that name, `MODULE:NAME`.

    Raises:
        FactoryNotFoundError: there is none.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise FactoryNotFoundError(name, "must be MODULE:NAME")
    try:
        found: object = importlib.import_module(module)
    except ImportError as error:
        raise FactoryNotFoundError(name, str(error)) from error
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise FactoryNotFoundError(name, f"{module} has no {attribute} that could be called")
    return found


@asynccontextmanager
async def opened(factory: Factory, folder: Path) -> AsyncIterator[Subject]:
    """The subject of a folder, for as long as the context lasts."""
    made = factory(folder)
    if isinstance(made, AbstractAsyncContextManager):
        async with made as subject:
            yield subject
    else:
        with made as subject:
            yield subject

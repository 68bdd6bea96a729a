"""The host as the plugin sees it: transactions, policies, and a bell for the leasing loop."""

from collections.abc import Callable, Sequence
from typing import TypeVar, assert_never

from refloat_host.adapters.store.queries import catalog
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.writer import Store
from refloat_host.services.news import News
from refloat_scheduler.service.contract import JobsRequeued, Notice, PolicyDocument, RoomChanged, Transaction

T = TypeVar("T")


class StoreHost:
    """Implements `refloat_scheduler.service.contract.Host` on the store."""

    def __init__(self, store: Store, news: News) -> None:
        self._store = store
        self._news = news

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one durable transaction and return what it returned, after the commit."""

        def bound(tx: SqlTransaction) -> T:
            return work(tx)

        return await self._store.transact(bound)

    async def load_policies(self) -> Sequence[PolicyDocument]:
        """All retry policies as stored, in order of name."""
        stored = await self._store.read(lambda tx: catalog.policies(tx.connection))
        return [PolicyDocument(policy.name, policy.body) for policy in stored]

    def notify(self, notice: Notice) -> None:
        """Wake the leasing loop: whoever may run now is found out by looking at the queues' fronts."""
        match notice:
            case JobsRequeued() | RoomChanged():
                self._news.leasing.set()
            case _:
                assert_never(notice)

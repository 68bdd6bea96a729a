"""Queues: create, replace, look up, remove."""

from collections.abc import Sequence
from dataclasses import replace

from refloat_common.core.clock import Clock
from refloat_host.adapters.store.queries import catalog, waiting
from refloat_host.adapters.store.queries.transaction import SqlTransaction
from refloat_host.adapters.store.writer import Store
from refloat_host.core.errors import InvalidFieldError, NotFoundError, PoliciesMissingError, QueueInUseError
from refloat_host.core.queues import Queue, checked_queue


class QueueService:
    """The queues. Like Armada's, create and update both write the whole queue, whether or not there was one."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def create(self, queue: Queue) -> None:
        """Store a queue; one of the same name is replaced.

        Raises:
            InvalidFieldError: a field can't be used.
            PoliciesMissingError: a retry policy that it names does not exist; nothing was changed.
        """
        checked = checked_queue(queue)
        await self._store.transact(lambda tx: self._put(tx, checked))

    async def update(self, queue: Queue) -> None:
        """Replace a queue whole: what is left out here is reset. Raises as `create`."""
        await self.create(queue)

    async def get(self, name: str) -> Queue:
        """One queue.

        Raises:
            NotFoundError: there is none of that name.
        """
        found = await self._store.read(lambda tx: catalog.queue(tx.connection, name))
        if found is None:
            raise NotFoundError("queue", name)
        return found

    async def list(self) -> Sequence[Queue]:
        """All queues, in order of name."""
        return await self._store.read(lambda tx: catalog.all_queues(tx.connection))

    async def delete(self, name: str) -> bool:
        """Remove a queue and its attachments; False if there was none.

        Raises:
            InvalidFieldError: the name is empty.
            QueueInUseError: it has unfinished jobs.
        """
        if not name:
            raise InvalidFieldError("name", name, "must not be empty")

        def work(tx: SqlTransaction) -> bool:
            if unfinished := waiting.unfinished_jobs(tx.connection, name):
                raise QueueInUseError(name, unfinished)
            return catalog.delete_queue(tx.connection, name)

        return await self._store.transact(work)

    async def cordon(self, name: str, *, cordoned: bool) -> None:
        """Stop a queue's jobs from being leased, or let them again; attachments are kept.

        Raises:
            NotFoundError: there is none of that name.
        """

        def work(tx: SqlTransaction) -> None:
            found = catalog.queue(tx.connection, name)
            if found is None:
                raise NotFoundError("queue", name)
            self._put(tx, replace(found, cordoned=cordoned))

        await self._store.transact(work)

    def _put(self, tx: SqlTransaction, queue: Queue) -> None:
        if missing := catalog.missing_policies(tx.connection, queue.retry_policies):
            raise PoliciesMissingError(missing)
        catalog.put_queue(tx.connection, queue, self._clock.utc_ms())
        tx.changes.queued = True

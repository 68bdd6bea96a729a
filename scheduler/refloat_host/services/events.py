"""The event stream: read from any message id on, and followed without asking again and again."""

from collections.abc import AsyncGenerator, Sequence

from refloat_host.adapters.store.queries import stream
from refloat_host.adapters.store.queries.stream import Message
from refloat_host.adapters.store.writer import Store
from refloat_host.services.news import News

MAX_MESSAGES = 500
"""Messages in one answer; a reader asks again from the last one."""


class EventService:
    """Reads the events of job sets."""

    def __init__(self, store: Store, news: News) -> None:
        self._store = store
        self._news = news

    async def read(self, queue: str, job_set: str, after: int = 0, limit: int = MAX_MESSAGES) -> Sequence[Message]:
        """Events of a job set behind a message id, in order; 0 is from the beginning. At most `MAX_MESSAGES`."""
        count = min(limit, MAX_MESSAGES)
        return await self._store.read(lambda tx: stream.job_set_events(tx.connection, queue, job_set, after, count))

    async def exists(self, queue: str, job_set: str) -> bool:
        """Whether the job set has any event."""
        return await self._store.read(lambda tx: stream.job_set_exists(tx.connection, queue, job_set))

    async def last_id(self) -> int:
        """The id of the newest event of all; 0 where there is none."""
        return await self._store.read(lambda tx: stream.last_id(tx.connection))

    async def follow(self, queue: str, job_set: str, after: int = 0) -> AsyncGenerator[Message, None]:
        """Events behind a message id, then each new one as soon as it is committed; never ends by itself."""
        with self._news.reading((queue, job_set)) as grown:
            while True:
                page = await self.read(queue, job_set, after)
                for message in page:
                    yield message
                    after = message.message_id
                if not page:
                    await grown.wait()

"""Serves `api.Event`: the events of a job set, from any of its messages on, as far as they go or for ever."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from armada_client.armada import event_pb2

from refloat_host.api.calls import Call
from refloat_host.api.errors import StreamMissingError
from refloat_host.api.messages.events import resume_after, stream_message
from refloat_host.api.submit import healthy
from refloat_host.core.errors import NotFoundError
from refloat_host.services.events import EventService
from refloat_host.services.queues import QueueService


class EventCalls:
    """The calls on the event stream."""

    def __init__(self, events: EventService, queues: QueueService) -> None:
        self._events = events
        self._queues = queues

    def table(self) -> Mapping[str, Call]:
        """Every method of the service."""
        return {
            "GetJobSetEvents": Call(self._read, "reading events"),
            "Watch": Call(self._watch, "reading events"),
            "Health": Call(healthy, "checking health"),
        }

    async def _watch(self, request: event_pb2.WatchRequest) -> AsyncGenerator[event_pb2.EventStreamMessage, None]:
        """The older form of a watch."""
        wanted = event_pb2.JobSetRequest(
            queue=request.queue, id=request.job_set_id, from_message_id=request.from_id, watch=True, errorIfMissing=True
        )
        async with aclosing(self._read(wanted)) as messages:
            async for message in messages:
                yield message

    async def _read(self, request: event_pb2.JobSetRequest) -> AsyncGenerator[event_pb2.EventStreamMessage, None]:
        """Events behind a message id: with `watch` for ever, else up to the last one that there is now."""
        after = resume_after(request.from_message_id)
        await self._check(request)
        stream = self._follow if request.watch else self._present
        async with aclosing(stream(request.queue, request.id, after)) as messages:
            async for message in messages:
                yield message

    async def _check(self, request: event_pb2.JobSetRequest) -> None:
        try:
            await self._queues.get(request.queue)
        except NotFoundError:
            raise StreamMissingError(f"Queue {request.queue}") from None
        if request.errorIfMissing and not await self._events.exists(request.queue, request.id):
            raise StreamMissingError(f"Jobset {request.id} for queue {request.queue}")

    async def _follow(self, queue: str, job_set: str, after: int) -> AsyncGenerator[event_pb2.EventStreamMessage, None]:
        async with aclosing(self._events.follow(queue, job_set, after)) as messages:
            async for message in messages:
                yield stream_message(message.message_id, message.event)

    async def _present(
        self, queue: str, job_set: str, after: int
    ) -> AsyncGenerator[event_pb2.EventStreamMessage, None]:
        last = await self._events.last_id()
        while after < last:
            page = [message for message in await self._events.read(queue, job_set, after) if message.message_id <= last]
            if not page:
                return
            for message in page:
                yield stream_message(message.message_id, message.event)
            after = page[-1].message_id

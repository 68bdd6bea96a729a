"""Serves queues: the calls that `api.Submit` and `api.QueueService` share, and those that only the latter has."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

from armada_client.armada import submit_pb2
from google.protobuf.empty_pb2 import Empty

from refloat_host.api.calls import Call
from refloat_host.api.errors import REFUSALS, status_of
from refloat_host.api.messages.jobs import standings_of
from refloat_host.api.messages.queues import queue_message, queue_of
from refloat_host.api.messages.unknown import refuse_unknown_fields
from refloat_host.core.errors import InvalidFieldError
from refloat_host.core.orders import Order
from refloat_host.core.selection import Selection
from refloat_host.services.jobs import JobService
from refloat_host.services.queues import QueueService

ANONYMOUS = "anonymous"
"""Who calls, as long as nobody has to say who they are; Armada's name for them."""

_CREATING, _UPDATING = "creating queue", "updating queue"


class QueueCalls:
    """The calls on queues."""

    def __init__(self, queues: QueueService, jobs: JobService) -> None:
        self._queues = queues
        self._jobs = jobs

    def shared_table(self) -> Mapping[str, Call]:
        """The methods that both services have."""
        return {
            "CreateQueue": Call(self._create, _CREATING),
            "CreateQueues": Call(self._create_all, "creating queues"),
            "UpdateQueue": Call(self._update, _UPDATING),
            "UpdateQueues": Call(self._update_all, "updating queues"),
            "DeleteQueue": Call(self._delete, "deleting queue {0.name}"),
            "GetQueue": Call(self._get, "getting queue {0.name}"),
            "GetQueues": Call(self._list, "getting queues"),
        }

    def table(self) -> Mapping[str, Call]:
        """Every method of `api.QueueService`."""
        return {
            **self.shared_table(),
            "CordonQueue": Call(self._cordon, "cordoning queue {0.name}"),
            "UncordonQueue": Call(self._uncordon, "uncordoning queue {0.name}"),
            "CancelOnQueue": Call(self._cancel, "cancelling jobs on queue {0.name}"),
            "PreemptOnQueue": Call(self._preempt, "preempting jobs on queue {0.name}"),
        }

    async def _create(self, request: submit_pb2.Queue) -> Empty:
        """Store a queue, or replace the one of that name; without owners it belongs to the caller, as in Armada."""
        refuse_unknown_fields(request)
        if not request.user_owners:
            request.user_owners.append(ANONYMOUS)
        await self._queues.create(queue_of(request))
        return Empty()

    async def _update(self, request: submit_pb2.Queue) -> Empty:
        """Replace a queue whole: what the request leaves out is reset (Armada facts, section 5.7)."""
        refuse_unknown_fields(request)
        await self._queues.update(queue_of(request))
        return Empty()

    async def _create_all(self, request: submit_pb2.QueueList) -> submit_pb2.BatchQueueCreateResponse:
        failed = await self._each(request, self._create, _CREATING)
        answers = [submit_pb2.QueueCreateResponse(queue=queue, error=error) for queue, error in failed]
        return submit_pb2.BatchQueueCreateResponse(failed_queues=answers)

    async def _update_all(self, request: submit_pb2.QueueList) -> submit_pb2.BatchQueueUpdateResponse:
        failed = await self._each(request, self._update, _UPDATING)
        answers = [submit_pb2.QueueUpdateResponse(queue=queue, error=error) for queue, error in failed]
        return submit_pb2.BatchQueueUpdateResponse(failed_queues=answers)

    async def _each(
        self, request: submit_pb2.QueueList, put: Callable[[submit_pb2.Queue], Awaitable[Empty]], doing: str
    ) -> list[tuple[submit_pb2.Queue, str]]:
        """Each queue by itself; returns those that were refused, and why."""
        failed = []
        for queue in request.queues:
            try:
                await put(queue)
            except REFUSALS as error:
                failed.append((queue, status_of(error, doing)[1]))
        return failed

    async def _delete(self, request: submit_pb2.QueueDeleteRequest) -> Empty:
        """An unknown name is no error; a queue with unfinished jobs is."""
        await self._queues.delete(request.name)
        return Empty()

    async def _get(self, request: submit_pb2.QueueGetRequest) -> submit_pb2.Queue:
        return queue_message(await self._queues.get(request.name))

    async def _list(
        self, request: submit_pb2.StreamingQueueGetRequest
    ) -> AsyncGenerator[submit_pb2.StreamingQueueMessage, None]:
        """All queues, or the first `num` where that is not 0, then the mark of the end."""
        queues = await self._queues.list()
        for queue in queues[: request.num or None]:
            yield submit_pb2.StreamingQueueMessage(queue=queue_message(queue))
        yield submit_pb2.StreamingQueueMessage(end=submit_pb2.EndMarker())

    async def _cordon(self, request: submit_pb2.QueueCordonRequest) -> Empty:
        await self._queues.cordon(_named(request.name), cordoned=True)
        return Empty()

    async def _uncordon(self, request: submit_pb2.QueueUncordonRequest) -> Empty:
        await self._queues.cordon(_named(request.name), cordoned=False)
        return Empty()

    async def _cancel(self, request: submit_pb2.QueueCancelRequest) -> Empty:
        """Cancel a queue's unfinished jobs: all, or those that meet every condition given."""
        await self._queues.get(_named(request.name))
        selection = Selection(
            queue=request.name,
            whole_queue=True,
            standings=standings_of(request.jobStates, "jobStates"),
            priority_classes=frozenset(request.priorityClasses),
            pools=frozenset(request.pools),
        )
        await self._jobs.cancel(selection, Order(ANONYMOUS))
        return Empty()

    async def _preempt(self, request: submit_pb2.QueuePreemptRequest) -> Empty:
        """Preempt a queue's leased jobs: all, or those that meet every condition given."""
        await self._queues.get(_named(request.name))
        selection = Selection(
            queue=request.name,
            whole_queue=True,
            priority_classes=frozenset(request.priorityClasses),
            pools=frozenset(request.pools),
        )
        await self._jobs.preempt(selection, Order(ANONYMOUS))
        return Empty()


def _named(name: str) -> str:
    if not name:
        raise InvalidFieldError("name", name, "must not be empty")
    return name

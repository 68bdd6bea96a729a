"""Calls `api.QueueService`."""

from armada_client.armada import submit_pb2, submit_pb2_grpc
from google.protobuf.json_format import MessageToDict, ParseDict

from refloat_common.core.jsontypes import JsonObject
from refloat_ctl.adapters.server.channel import Channel


class QueueApi:
    """Queues on the server, in the API's JSON form. Every call may raise `RefusedError`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._stub = submit_pb2_grpc.QueueServiceStub(channel.grpc)

    def create(self, queue: JsonObject) -> None:
        """Store a queue, or replace the one of its name."""
        self._channel.call(self._stub.CreateQueue, ParseDict(dict(queue), submit_pb2.Queue()))

    def update(self, queue: JsonObject) -> None:
        """Replace a queue whole."""
        self._channel.call(self._stub.UpdateQueue, ParseDict(dict(queue), submit_pb2.Queue()))

    def delete(self, name: str) -> None:
        """Remove a queue; one that does not exist is removed already."""
        self._channel.call(self._stub.DeleteQueue, submit_pb2.QueueDeleteRequest(name=name))

    def get(self, name: str) -> JsonObject:
        """One queue."""
        found: JsonObject = MessageToDict(
            self._channel.call(self._stub.GetQueue, submit_pb2.QueueGetRequest(name=name))
        )
        return found

    def list(self) -> list[JsonObject]:
        """All queues, in order of name."""
        messages = self._channel.stream(self._stub.GetQueues, submit_pb2.StreamingQueueGetRequest())
        return [MessageToDict(message.queue) for message in messages if message.HasField("queue")]

"""Follows the events of a job set over `api.Event`, through breaks of the connection."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from armada_client.armada import event_pb2, event_pb2_grpc
from google.protobuf.message import Message

from refloat_common.core.jsontypes import JsonValue
from refloat_common.core.podproto import to_json
from refloat_ctl.adapters.server.channel import Channel
from refloat_ctl.core.errors import RefusedError
from refloat_ctl.core.text.scalars import as_json_number
from refloat_ctl.core.watching import Seen

MAX_PAUSE_S: Final = 15.0
"""The longest pause before a broken connection is tried again; the pauses double."""

_KUBERNETES: Final = "k8s.io."


@dataclass(frozen=True, slots=True)
class StreamedEvent:
    """One message of the stream: its id, and the event itself."""

    message_id: str
    event: Message

    @property
    def type_name(self) -> str:
        """The name of its message (`JobFailedEvent`)."""
        return str(self.event.DESCRIPTOR.name)

    def seen(self) -> Seen:
        """What `watch` needs of it."""
        fields: Mapping[str, object] = {field.name: value for field, value in self.event.ListFields()}
        has_pod = {"pod_number", "kubernetes_id"} <= set(self.event.DESCRIPTOR.fields_by_name)
        created, job = fields.get("created"), fields.get("job")
        return Seen(
            name=self.type_name,
            job_id=str(fields.get("job_id", "")),
            created_s=int(getattr(created, "seconds", 0)),
            cluster=str(fields.get("cluster_id", "")),
            namespace=str(getattr(job, "namespace", "")),
            pod=int(str(fields.get("pod_number", 0))) if has_pod else None,
            reason=str(fields.get("reason", "")),
            retryable=bool(fields.get("retryable", False)),
        )

    def raw(self) -> JsonValue:
        """The whole event as Go's JSON has it: times as seconds and nanos, enums as numbers, zero values left out."""
        return _plain(self.event)


class EventApi:
    """The event stream of the server."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._stub = event_pb2_grpc.EventStub(channel.grpc)

    def follow(
        self, queue: str, job_set: str, *, must_exist: bool, on_break: Callable[[RefusedError, float], None]
    ) -> Iterator[StreamedEvent]:
        """Every event of a job set, then each new one; never ends by itself.

        A connection that breaks after it once stood is made again, and the stream goes on behind the last event;
        `on_break` is told why it broke and for how many seconds nothing will be tried.

        Raises:
            RefusedError: the server refuses, or could not be reached in the first place.
        """
        last, pause_s, stood = "", 1.0, False
        while True:
            request = event_pb2.JobSetRequest(
                queue=queue, id=job_set, watch=True, from_message_id=last, errorIfMissing=must_exist
            )
            try:
                for message in self._channel.stream(self._stub.GetJobSetEvents, request, endless=True):
                    last, pause_s, stood = message.id, 1.0, True
                    kind = message.message.WhichOneof("events")
                    if kind is not None:
                        yield StreamedEvent(message.id, getattr(message.message, kind))
            except RefusedError as error:
                if error.code != "UNAVAILABLE" or not stood:
                    raise
                on_break(error, pause_s)
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)


def _plain(message: Message) -> JsonValue:
    if message.DESCRIPTOR.full_name.startswith(_KUBERNETES):
        return to_json(message)
    said = {field.number: value for field, value in message.ListFields()}
    # In the order of declaration, which is that of Go's structs, not in that of the numbers.
    fields = [field for field in message.DESCRIPTOR.fields if field.number in said]
    return {field.json_name: _value(said[field.number]) for field in fields}


def _value(value: object) -> JsonValue:
    if isinstance(value, Message):
        return _plain(value)
    if isinstance(value, float):
        return as_json_number(value)
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _value(value[key]) for key in sorted(value)}
    assert isinstance(value, Sequence)
    return [_value(item) for item in value]

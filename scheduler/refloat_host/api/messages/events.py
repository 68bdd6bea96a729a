"""Events: what the host's stream says, as Armada's messages; and message ids, as text and as number."""

import re
from typing import Final, assert_never

from armada_client.armada import event_pb2, submit_pb2
from google.protobuf.timestamp_pb2 import Timestamp

from refloat_host.core.errors import InvalidFieldError
from refloat_scheduler.core import events as own
from refloat_scheduler.core.model import ContainerResult

MAX_MESSAGE_ID: Final = (1 << 63) - 1
_ID = re.compile(r"(?P<id>[0-9]{1,19})(:[0-9]+:[0-9]+:[01])?\Z")


def message_id_text(message_id: int) -> str:
    """A message id in Armada's form, `time:sequence:part:last`; ours counts in the first place."""
    return f"{message_id}:0:0:1"


def resume_after(text: str) -> int:
    """The message id that a reader has seen last; 0 for one that begins.

    Raises:
        InvalidFieldError: the text is no message id.
    """
    if not text:
        return 0
    match = _ID.match(text) if text.isascii() else None
    if match is None or int(match["id"]) > MAX_MESSAGE_ID:
        raise InvalidFieldError("fromMessageId", text, "is no id of a message of this stream")
    return int(match["id"])


def stream_message(message_id: int, event: own.Event) -> event_pb2.EventStreamMessage:
    """An event as the stream carries it."""
    return event_pb2.EventStreamMessage(id=message_id_text(message_id), message=event_message(event))


def event_message(event: own.Event) -> event_pb2.EventMessage:
    """An event as Armada's message; what Armada has no field for is left out."""
    message = event_pb2.EventMessage()
    part = getattr(message, event.NAME)
    part.SetInParent()
    part.job_id, part.job_set_id, part.queue = event.job_id, event.job_set_id, event.queue
    part.created.CopyFrom(_time(event.created_ms))
    match event:
        case own.JobSubmitted():
            message.submitted.job.CopyFrom(_job(event))
        case own.JobQueued() | own.JobLeaseExpired():
            pass
        case own.JobLeased():
            message.leased.cluster_id, message.leased.pool = event.cluster_id, event.pool
        case own.JobPending() | own.JobRunning():
            part.pool = event.pool
            _put_pod(part, event)
        case own.JobSucceeded() | own.JobFailed():
            _put_pod(part, event)
        case own.JobLeaseReturned():
            _put_return(message.lease_returned, event)
        case own.JobPreempted():
            preempted = message.preempted
            preempted.run_id, preempted.cluster_id, preempted.reason = event.run_id, event.cluster_id, event.reason
            preempted.requestor = event.requestor
        case own.JobPreempting() | own.JobCancelling() | own.JobCancelled():
            part.requestor, part.reason = event.requestor, event.reason
        case own.JobReprioritizing() | own.JobReprioritized():
            part.requestor, part.new_priority = event.requestor, float(event.new_priority)
        case _:
            assert_never(event)
    return message


def _job(event: own.JobSubmitted) -> submit_pb2.Job:
    """The submitted job as far as the stream tells of it; its pod spec is not repeated."""
    return submit_pb2.Job(
        id=event.job_id,
        job_set_id=event.job_set_id,
        queue=event.queue,
        namespace=event.namespace,
        owner=event.owner,
        priority=float(event.priority),
        created=_time(event.created_ms),
    )


_PodEvent = own.JobPending | own.JobRunning | own.JobSucceeded | own.JobFailed
_PodPart = (
    event_pb2.JobPendingEvent | event_pb2.JobRunningEvent | event_pb2.JobSucceededEvent | event_pb2.JobFailedEvent
)


def _put_pod(part: _PodPart, event: _PodEvent) -> None:
    part.cluster_id, part.kubernetes_id, part.pod_number = event.cluster_id, event.kubernetes_id, event.pod_number
    part.pod_name, part.pod_namespace = event.pod_name, event.pod_namespace
    if not isinstance(event, own.JobPending) and not isinstance(part, event_pb2.JobPendingEvent):
        part.node_name = event.node_name
    if isinstance(event, own.JobFailed) and isinstance(part, event_pb2.JobFailedEvent):
        part.reason = event.reason
        part.cause = event_pb2.Cause.Value(event.cause)
        part.container_statuses.extend(_container(container) for container in event.container_statuses)
        part.failure_category, part.failure_subcategory = event.failure_category, event.failure_subcategory
        part.retryable = event.retryable


def _put_return(part: event_pb2.JobLeaseReturnedEvent, event: own.JobLeaseReturned) -> None:
    part.cluster_id, part.kubernetes_id, part.pod_number = event.cluster_id, event.kubernetes_id, event.pod_number
    part.reason, part.run_attempted = event.reason, event.run_attempted


def _container(container: ContainerResult) -> event_pb2.ContainerStatus:
    return event_pb2.ContainerStatus(
        name=container.name,
        exitCode=container.exit_code,
        reason=container.reason,
        message=container.message,
        cause=event_pb2.Cause.Value(container.cause),
    )


def _time(utc_ms: int) -> Timestamp:
    time = Timestamp()
    time.FromMilliseconds(utc_ms)
    return time

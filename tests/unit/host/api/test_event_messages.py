"""Events that no recording holds, message ids, and that every kind of event has a message."""

from typing import Any

import pytest
from armada_client.armada import event_pb2
from google.protobuf.timestamp_pb2 import Timestamp

from refloat_common.core.ids import JobId
from refloat_common.core.taxonomy import Cause
from refloat_host.api.messages.events import event_message, message_id_text, resume_after, stream_message
from refloat_host.core.errors import InvalidFieldError
from refloat_scheduler.core.events import ALL_EVENTS, Event, JobFailed, JobReprioritized, JobReprioritizing
from refloat_scheduler.core.model import ContainerResult

BASE: dict[str, Any] = {"job_id": JobId("j"), "job_set_id": "s", "queue": "q", "created_ms": 1_800_000_000_123}
MESSAGE: dict[str, Any] = {
    "job_id": "j",
    "job_set_id": "s",
    "queue": "q",
    "created": Timestamp(seconds=1_800_000_000, nanos=123_000_000),
}


@pytest.mark.parametrize("kind", ALL_EVENTS)
def test_every_event_has_the_message_of_its_name(kind: type[Event]) -> None:
    message = event_message(kind(**BASE))
    assert message.WhichOneof("events") == kind.NAME
    part = getattr(message, kind.NAME)
    assert (part.job_id, part.job_set_id, part.queue, part.created) == tuple(MESSAGE.values())


def test_priorities_are_numbers_with_a_point_outside() -> None:
    changing = JobReprioritizing(**BASE, new_priority=4_294_967_295, requestor="anna")
    changed = JobReprioritized(**BASE, new_priority=7, requestor="anna")
    assert event_message(changing) == event_pb2.EventMessage(
        reprioritizing=event_pb2.JobReprioritizingEvent(**MESSAGE, new_priority=4_294_967_295.0, requestor="anna")
    )
    assert event_message(changed) == event_pb2.EventMessage(
        reprioritized=event_pb2.JobReprioritizedEvent(**MESSAGE, new_priority=7.0, requestor="anna")
    )


@pytest.mark.parametrize("cause", Cause)
def test_causes_are_armadas(cause: Cause) -> None:
    failed = JobFailed(**BASE, cause=cause, container_statuses=(ContainerResult("main", 1, cause=cause),))
    assert event_message(failed) == event_pb2.EventMessage(
        failed=event_pb2.JobFailedEvent(
            **MESSAGE,
            cause=event_pb2.Cause.Value(cause.value),
            container_statuses=[
                event_pb2.ContainerStatus(name="main", exitCode=1, cause=event_pb2.Cause.Value(cause.value))
            ],
        )
    )


def test_a_message_carries_the_id_that_a_reader_resumes_after() -> None:
    failed = JobFailed(**BASE)
    assert stream_message(7, failed) == event_pb2.EventStreamMessage(id="7:0:0:1", message=event_message(failed))


@pytest.mark.parametrize("number", [1, 7, (1 << 63) - 1])
def test_an_id_leads_back_to_its_number(number: int) -> None:
    assert resume_after(message_id_text(number)) == number


@pytest.mark.parametrize(("text", "number"), [("", 0), ("0", 0), ("12", 12), ("12:3:4:0", 12), ("0:0:0:1", 0)])
def test_ids_that_a_reader_may_send(text: str, number: int) -> None:
    assert resume_after(text) == number


@pytest.mark.parametrize("text", ["-1", "1.5", "1:2:3", "1:2:3:4", "9" * 19, "9" * 20, " 1", "1\n"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"fromMessageId: .* is no id of a message of this stream"):
        resume_after(text)

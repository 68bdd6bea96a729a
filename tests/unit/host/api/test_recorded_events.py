"""Every event that a running Armada was seen to send is the one that ours becomes, but for what ours does not know."""

from collections.abc import Callable
from typing import Any

import pytest
from armada_client.armada import event_pb2
from google.protobuf.json_format import ParseDict
from google.protobuf.timestamp_pb2 import Timestamp

from refloat_common.core.ids import JobId, RunId
from refloat_host.api.messages.events import event_message
from refloat_scheduler.core import events as own
from refloat_scheduler.core.model import ContainerResult
from testkit.armada_live.recordings import public_lines

RECORDED = [line["message"] for line in public_lines()]
NOT_REPEATED = ("annotations", "clientId", "podSpec", "schedulingResourceRequirements")
"""Of a submitted job, what our stream does not say again."""


def as_known(recorded: dict[str, Any]) -> event_pb2.EventMessage:
    """The recorded message, its time in whole milliseconds, without what the stream of ours does not repeat."""
    job = recorded.get("submitted", {}).get("job", {})
    kept = {name: value for name, value in job.items() if name not in NOT_REPEATED}
    known = recorded | ({"submitted": recorded["submitted"] | {"job": kept}} if job else {})
    message = ParseDict(known, event_pb2.EventMessage())
    part = getattr(message, message.WhichOneof("events") or "")
    part.created.nanos -= part.created.nanos % 1_000_000
    if message.HasField("submitted"):
        part.job.created.CopyFrom(part.created)
    return message


def milliseconds(time: Timestamp) -> int:
    return time.ToMilliseconds()


def pod(part: Any) -> dict[str, Any]:
    names = ("cluster_id", "kubernetes_id", "pod_number", "pod_name", "pod_namespace")
    return {name: getattr(part, name) for name in names}


def cause(number: Any) -> str:
    return event_pb2.Cause.Name(number)


def failed(part: Any) -> dict[str, Any]:
    containers = tuple(
        ContainerResult(each.name, each.exitCode, each.reason, each.message, cause(each.cause))
        for each in part.container_statuses
    )
    names = ("reason", "node_name", "failure_category", "failure_subcategory", "retryable")
    told = {name: getattr(part, name) for name in names}
    return pod(part) | told | {"cause": cause(part.cause), "container_statuses": containers}


def some(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda part: {name: getattr(part, name) for name in names}


OWN: dict[str, tuple[type[own.Event], Callable[[Any], dict[str, Any]]]] = {
    "submitted": (own.JobSubmitted, lambda part: some("owner", "namespace")(part.job)),
    "queued": (own.JobQueued, some()),
    "leased": (own.JobLeased, some("cluster_id", "pool")),
    "pending": (own.JobPending, lambda part: pod(part) | {"pool": part.pool}),
    "running": (own.JobRunning, lambda part: pod(part) | {"pool": part.pool, "node_name": part.node_name}),
    "succeeded": (own.JobSucceeded, lambda part: pod(part) | {"node_name": part.node_name}),
    "failed": (own.JobFailed, failed),
    "lease_returned": (
        own.JobLeaseReturned,
        some("cluster_id", "reason", "kubernetes_id", "pod_number", "run_attempted"),
    ),
    "lease_expired": (own.JobLeaseExpired, some()),
    "cancelling": (own.JobCancelling, some("requestor", "reason")),
    "cancelled": (own.JobCancelled, some("requestor", "reason")),
    "preempting": (own.JobPreempting, some("requestor", "reason")),
    "preempted": (
        own.JobPreempted,
        lambda part: {"run_id": RunId(part.run_id)} | some("cluster_id", "reason", "requestor")(part),
    ),
}


def as_ours(message: event_pb2.EventMessage) -> own.Event:
    """The event of ours that says the same."""
    name = message.WhichOneof("events") or ""
    part = getattr(message, name)
    kind, rest = OWN[name]
    base = {"job_id": JobId(part.job_id), "job_set_id": part.job_set_id, "queue": part.queue}
    return kind(**base, created_ms=milliseconds(part.created), **rest(part))


@pytest.mark.parametrize("name", OWN)
def test_a_recorded_event_is_what_ours_becomes(name: str) -> None:
    messages = [message for message in map(as_known, RECORDED) if message.WhichOneof("events") == name]
    assert messages
    for message in messages:
        assert event_message(as_ours(message)) == message


def test_every_kind_that_was_recorded_is_compared() -> None:
    assert {message.WhichOneof("events") for message in map(as_known, RECORDED)} == set(OWN)

"""Calls `api.Submit`: submits job files, cancels jobs."""

from collections.abc import Sequence

from armada_client.armada import submit_pb2, submit_pb2_grpc
from google.protobuf.json_format import ParseDict, ParseError

from refloat_common.core.podproto import KubernetesFormError, fill
from refloat_ctl.adapters.server.channel import Channel
from refloat_ctl.core.resources.fields import FieldError
from refloat_ctl.core.resources.jobs import JobFile, JobItem


class JobApi:
    """Jobs on the server. Every call may raise `RefusedError`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._stub = submit_pb2_grpc.SubmitStub(channel.grpc)

    def submit(self, request: submit_pb2.JobSubmitRequest) -> Sequence[tuple[str, str]]:
        """Submit jobs, all or none: for each its id, or why it was refused."""
        answer = self._channel.call(self._stub.SubmitJobs, request)
        return [(item.job_id, item.error) for item in answer.job_response_items]

    def cancel(self, queue: str, job_set: str, job_id: str) -> Sequence[str]:
        """Cancel a job; the ids of those that were not over."""
        request = submit_pb2.JobCancelRequest(queue=queue, job_set_id=job_set, job_ids=[job_id])
        return list(self._channel.call(self._stub.CancelJobs, request).cancelled_ids)

    def cancel_set(self, queue: str, job_set: str) -> None:
        """Cancel all jobs of a job set."""
        request = submit_pb2.JobSetCancelRequest(queue=queue, job_set_id=job_set)
        self._channel.call(self._stub.CancelJobSet, request)


def submit_request(file: JobFile) -> submit_pb2.JobSubmitRequest:
    """The request that a job file stands for.

    Raises:
        FieldError: a pod spec holds what Kubernetes has no place for, or a field the wrong kind of value.
    """
    items = [_item(job, f"jobs[{i}]") for i, job in enumerate(file.jobs)]
    return submit_pb2.JobSubmitRequest(queue=file.queue, job_set_id=file.job_set, job_request_items=items)


def _item(job: JobItem, path: str) -> submit_pb2.JobSubmitRequestItem:
    try:
        message = ParseDict(dict(job.fields), submit_pb2.JobSubmitRequestItem())
        for at, spec in job.pods.items():
            fill(message.pod_specs.add(), spec, at)
    except ParseError as error:
        raise FieldError(path, " ".join(str(error).split())) from None
    except KubernetesFormError as error:
        raise FieldError("", str(error)) from None
    return message

"""Calls `refloat.Admin`: JSON messages over gRPC (see `refloat_common.core.admin`)."""

from typing import TypeVar

import msgspec

from refloat_common.core.admin import (
    METHODS,
    SERVICE,
    AdminMessage,
    Done,
    ExecutorOrder,
    ExecutorsAnswer,
    ExecutorsQuery,
    JobQuery,
    JobsAnswer,
    JobsQuery,
    JobStory,
)
from refloat_ctl.adapters.server.channel import Channel
from refloat_ctl.core.errors import RefusedError

M = TypeVar("M", bound=AdminMessage)


class AdminApi:
    """Jobs with their verdicts, and executors. Every call may raise `RefusedError`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def jobs(self, query: JobsQuery) -> JobsAnswer:
        """A page of jobs."""
        return self._call("GetJobs", query, JobsAnswer)

    def job(self, job_id: str) -> JobStory:
        """One job, whole."""
        return self._call("DescribeJob", JobQuery(job_id=job_id), JobStory)

    def executors(self) -> ExecutorsAnswer:
        """All executors."""
        return self._call("GetExecutors", ExecutorsQuery(), ExecutorsAnswer)

    def operate(self, order: ExecutorOrder) -> None:
        """Carry out an order about an executor."""
        self._call("OperateExecutor", order, Done)

    def _call(self, name: str, request: AdminMessage, answer: type[M]) -> M:
        assert METHODS[name] == (type(request), answer)
        raw: bytes = self._channel.call(
            self._channel.grpc.unary_unary(f"/{SERVICE}/{name}"), msgspec.json.encode(request)
        )
        try:
            return msgspec.json.decode(raw, type=answer)
        except msgspec.DecodeError as error:
            raise RefusedError("INTERNAL", f"the server's answer can't be read: {error}") from None

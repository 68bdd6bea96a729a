"""Serves `refloat.Admin`, the service of refloatctl: JSON messages over gRPC (see `refloat_common.core.admin`)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import grpc
import msgspec

from refloat_common.core.admin import METHODS, SERVICE, AdminMessage
from refloat_host.api.answers import Desk, bounded
from refloat_host.services.admin import AdminService

CarryOut: TypeAlias = Callable[[Any], Awaitable[AdminMessage]]


def admin_handler(admin: AdminService, desk: Desk) -> Any:
    """The handler that gRPC's server takes for the whole service."""
    calls: Mapping[str, tuple[CarryOut, str]] = {
        "GetJobs": (admin.get_jobs, "getting jobs of queue {0.queue}"),
        "DescribeJob": (admin.describe_job, "describing job {0.job_id}"),
        "GetExecutors": (admin.get_executors, "getting executors"),
        "OperateExecutor": (admin.operate_executor, "operating executor {0.executor}"),
    }
    handlers = {name: _method(name, METHODS[name][0], *calls[name], desk) for name in METHODS}
    return grpc.method_handlers_generic_handler(SERVICE, handlers)


def _method(name: str, takes: type[AdminMessage], carry_out: CarryOut, doing: str, desk: Desk) -> Any:
    async def answer(raw: bytes, context: Any) -> bytes | None:
        try:
            request = msgspec.json.decode(raw, type=takes)
        except msgspec.DecodeError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the request is not as it must be: {error}")
            raise
        work = bounded(carry_out(request))
        return msgspec.json.encode(await desk.answer(f"{SERVICE}/{name}", doing.format(request), context, work))

    return grpc.unary_unary_rpc_method_handler(answer)

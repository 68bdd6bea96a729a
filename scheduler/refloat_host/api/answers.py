"""Ends every call with a status: a refusal with its own, a defect with INTERNAL and a line in the log."""

import traceback
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import anyio
import grpc

from refloat_common.adapters.logs import Log
from refloat_host.api.errors import REFUSALS, TooSlowError, status_of

MAX_CALL_S = 60.0
"""How long a call that is no stream may take, whatever the client allows."""

MAX_TEXT_BYTES = 1500
"""Of an error's text: gRPC sends it in a header, whose size is limited, and escapes what is not ASCII."""

CountCall: TypeAlias = Callable[[str, str], None]
"""Counts a call that has ended: its method as `service/method`, and the name of its status."""

T = TypeVar("T")


class Desk:
    """Answers calls. `log` tells of defects, `count` of all."""

    def __init__(self, log: Log, count: CountCall) -> None:
        self._log = log
        self._count = count

    async def answer(self, method: str, doing: str, context: Any, work: Awaitable[T]) -> T:
        """What the work returns; where it raises, the call is aborted.

        Args:
            method: the call's name in the counter.
            doing: the request in words, as in `creating queue`; errors begin with it.
            context: gRPC's side of the call.
            work: carries the call out.
        """
        try:
            done = await work
        except REFUSALS as error:
            status, text = status_of(error, doing)
            await self._abort(method, context, status, text)
            raise
        except Exception as error:  # the boundary of a call's task: a defect ends this call alone
            if context.cancelled():
                raise
            told = {"method": method, "error": repr(error), "trace": traceback.format_exc()}
            self._log("error", f"{doing} failed by a defect of the host's", told)
            text = f"error {doing}: a defect of the host's; its log tells more"
            await self._abort(method, context, grpc.StatusCode.INTERNAL, text)
            raise
        self._count(method, grpc.StatusCode.OK.name)
        return done

    async def _abort(self, method: str, context: Any, status: grpc.StatusCode, text: str) -> None:
        self._count(method, status.name)
        await context.abort(status, text.encode()[:MAX_TEXT_BYTES].decode(errors="ignore"))


async def bounded(call: Awaitable[T]) -> T:
    """What a call returns, if it is done within `MAX_CALL_S`.

    Raises:
        TooSlowError: it is not.
    """
    with anyio.move_on_after(MAX_CALL_S):
        return await call
    raise TooSlowError(MAX_CALL_S)

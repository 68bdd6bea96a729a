"""Binds plain coroutines to the methods of a gRPC service, which its descriptor names.

A method's coroutine takes the request and returns the response, or yields responses; it raises what is wrong, of which
`answers` makes a status. A service with a method that nobody carries out, or the reverse, is refused at start.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from refloat_host.api.answers import Desk, bounded
from refloat_host.api.errors import StoppingError

Unary: TypeAlias = Callable[[Any], Awaitable[Message]]
Stream: TypeAlias = Callable[[Any], AsyncGenerator[Message, None]]


@dataclass(frozen=True, slots=True)
class Call:
    """What carries a method out. `doing` says it in words for errors; `{0.name}` stands for the request's field."""

    carry_out: Unary | Stream
    doing: str


class MethodTableError(Exception):
    """The table of a service's calls is not the list of its methods."""

    def __init__(self, service: str, odd: set[str]) -> None:
        super().__init__(f"{service}: methods without a call, or calls without a method: {', '.join(sorted(odd))}")


class Streams:
    """The streams that are open. Whoever watches would go on for ever: the server ends them when it stops."""

    def __init__(self) -> None:
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._count = 0

    def close(self) -> None:
        """End all."""
        for scope in self._scopes.values():
            scope.cancel()

    async def send(self, messages: AsyncGenerator[Message, None], context: Any) -> None:
        """Send messages until they end.

        Raises:
            StoppingError: `close` ended them.
        """
        self._count += 1
        number = self._count
        with anyio.CancelScope() as scope:
            self._scopes[number] = scope
            try:
                async with aclosing(messages) as sent:
                    async for message in sent:
                        await context.write(message)
            finally:
                del self._scopes[number]
        if scope.cancelled_caught:
            raise StoppingError


def handler_of(service: ServiceDescriptor, calls: Mapping[str, Call], streams: Streams, desk: Desk) -> Any:
    """The handler that gRPC's server takes for a whole service.

    Raises:
        MethodTableError: a method has no call, or a call no method.
    """
    if odd := set(calls) ^ {method.name for method in service.methods}:
        raise MethodTableError(service.full_name, odd)
    handlers = {method.name: _method(method, calls[method.name], streams, desk) for method in service.methods}
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def _method(method: MethodDescriptor, call: Call, streams: Streams, desk: Desk) -> Any:
    read = GetMessageClass(method.input_type).FromString
    write = GetMessageClass(method.output_type).SerializeToString
    name = f"{method.containing_service.full_name}/{method.name}"

    async def carry_out(request: Message, context: Any) -> Message | None:
        if method.server_streaming:
            await streams.send(call.carry_out(request), context)  # type: ignore[arg-type]  # as the descriptor says
            return None
        return await bounded(call.carry_out(request))  # type: ignore[arg-type]  # as the descriptor says

    async def answer(request: Message, context: Any) -> Message | None:
        doing = call.doing.format(request).rstrip()
        return await desk.answer(name, doing, context, carry_out(request, context))

    kind = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
    return kind(answer, request_deserializer=read, response_serializer=write)

"""Serves /metrics, and /health with /healthz: 204 while a daemon is well, else 503 (Armada's codes)."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio
from anyio.abc import SocketAttribute, SocketStream
from prometheus_client import CollectorRegistry, start_http_server

HEALTH_PATHS: Final = (b"/health", b"/healthz")
MAX_REQUEST_BYTES: Final = 8192
REQUEST_TIMEOUT_S: Final = 5.0


class PortTakenError(Exception):
    """An address that can't be listened on."""

    def __init__(self, what: str, address: str, port: int, why: str) -> None:
        super().__init__(f"{what} can't be served on {address}:{port}: {why}")


@contextmanager
def serve_metrics(address: str, port: int, registry: CollectorRegistry) -> Iterator[int]:
    """Serve /metrics from a thread of its own, so that a scrape never holds the loop; gives the port.

    Raises:
        PortTakenError: the address can't be listened on.
    """
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise PortTakenError("metrics", address, port, error.strerror or str(error)) from None
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@asynccontextmanager
async def serve_health(address: str, port: int, ill: Callable[[], str]) -> AsyncIterator[int]:
    """Serve for as long as the context lasts; gives the port, which is a free one if 0 was asked for.

    Args:
        address: where to listen.
        port: which port; 0 for any.
        ill: says what is wrong; empty while nothing is.

    Raises:
        PortTakenError: the address can't be listened on.
    """

    async def answer(stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(REQUEST_TIMEOUT_S):
                try:
                    await stream.send(_response(await _request_path(stream), ill()))
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return

    try:
        listener = await anyio.create_tcp_listener(local_host=address, local_port=port)
    except OSError as error:
        raise PortTakenError("health", address, port, error.strerror or str(error)) from None
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        yield int(listener.extra(SocketAttribute.local_port))  # noqa: S610  no Django here
        tasks.cancel_scope.cancel()


async def _request_path(stream: SocketStream) -> bytes:
    """The path of a request, once its head is here; empty for what is no GET or too long."""
    head = b""
    while b"\r\n\r\n" not in head:
        if len(head) > MAX_REQUEST_BYTES:
            return b""
        head += await stream.receive(MAX_REQUEST_BYTES)
    words = head.split(b"\r\n", 1)[0].split(b" ")
    return words[1].partition(b"?")[0] if len(words) == 3 and words[0] == b"GET" else b""  # noqa: PLR2004  RFC 9112


def _response(path: bytes, ill: str) -> bytes:
    if path not in HEALTH_PATHS:
        return _http("404 Not Found", "")
    return _http("503 Service Unavailable", ill + "\n") if ill else _http("204 No Content", None)


def _http(status: str, text: str | None) -> bytes:
    """One response, after which the connection is closed; a status without content has no length either."""
    body = (text or "").encode()
    length = "" if text is None else f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"HTTP/1.1 {status}\r\n{length}Connection: close\r\n\r\n".encode() + body

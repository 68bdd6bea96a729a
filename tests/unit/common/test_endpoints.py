"""/health and /metrics, asked over real sockets."""

import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable

import anyio
import pytest
from anyio import to_thread
from prometheus_client import CollectorRegistry, Counter

from refloat_common.adapters.endpoints import PortTakenError, serve_health, serve_metrics

pytestmark = pytest.mark.anyio
HOST = "127.0.0.1"

Answer = tuple[int, str]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _get(url: str) -> Answer:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def get(port: int, path: str) -> Awaitable[Answer]:
    return to_thread.run_sync(_get, f"http://{HOST}:{port}{path}")


async def raw(port: int, request: bytes) -> bytes:
    async with await anyio.connect_tcp(HOST, port) as stream:
        await stream.send(request)
        answer = b""
        try:
            while True:
                answer += await stream.receive()
        except anyio.EndOfStream:
            return answer


async def test_health_says_what_is_wrong() -> None:
    wrong = ""
    async with serve_health(HOST, 0, lambda: wrong) as port:
        assert await get(port, "/health") == (204, "")
        assert await get(port, "/healthz?verbose") == (204, "")
        wrong = "the store is gone"
        assert await get(port, "/healthz") == (503, "the store is gone\n")
        assert await get(port, "/other") == (404, "")


@pytest.mark.parametrize(
    "request_bytes", [b"POST /health HTTP/1.1\r\n\r\n", b"GET\r\n\r\n", b"x" * 9000, b"\0\r\n\r\n"]
)
async def test_anything_but_a_get_is_turned_away(request_bytes: bytes) -> None:
    async with serve_health(HOST, 0, lambda: "") as port:
        assert (await raw(port, request_bytes)).startswith(b"HTTP/1.1 404 ")
        assert await get(port, "/health") == (204, "")


async def test_metrics_are_served_until_the_end() -> None:
    registry = CollectorRegistry()
    Counter("things", "Things.", registry=registry).inc(3)
    with serve_metrics(HOST, 0, registry) as port:
        status, text = await get(port, "/metrics")
    assert status == 200
    assert "things_total 3.0" in text


async def _health(port: int) -> None:
    async with serve_health(HOST, port, lambda: ""):
        pytest.fail("the port was taken")


async def _metrics(port: int) -> None:
    with serve_metrics(HOST, port, CollectorRegistry()):
        pytest.fail("the port was taken")


@pytest.mark.parametrize(("serve", "what"), [(_health, "health"), (_metrics, "metrics")])
async def test_a_port_that_is_taken_is_named(serve: Callable[[int], Awaitable[None]], what: str) -> None:
    async with serve_health(HOST, 0, lambda: "") as port:
        with pytest.raises(PortTakenError, match=f"{what} can't be served on {HOST}:{port}: "):
            await serve(port)

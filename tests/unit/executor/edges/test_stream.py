"""Lines of a watch, however they are cut into pieces."""

from collections import deque
from typing import cast

import aiohttp
import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refloat_executor.adapters.kube.stream import MAX_LINE_BYTES, HttpWatch
from refloat_executor.core.cluster.reflector import WatchClosed
from refloat_executor.core.cluster.wire import Lines


class Content:
    """A response's stream: pieces, then an error, or its end."""

    def __init__(self, pieces: list[bytes], error: Exception | None = None) -> None:
        self._pieces = deque(pieces)
        self._error = error

    async def readany(self) -> bytes:
        if self._pieces:
            return self._pieces.popleft()
        if self._error is not None:
            raise self._error
        return b""


class Response:
    def __init__(self, pieces: list[bytes], error: Exception | None = None) -> None:
        self.content = Content(pieces, error)
        self.closed = False

    def close(self) -> None:
        self.closed = True


def read_all(pieces: list[bytes], error: Exception | None = None) -> tuple[list[bytes], WatchClosed]:
    """The blocks, joined each, and how the watch ended."""

    async def read() -> tuple[list[bytes], WatchClosed]:
        watch = HttpWatch(cast(aiohttp.ClientResponse, Response(pieces, error)))
        blocks: list[bytes] = []
        while True:
            block: Lines | WatchClosed = await watch.next_block()
            if isinstance(block, WatchClosed):
                return blocks, block
            blocks.append(b"".join(block) if isinstance(block, tuple) else bytes(block))

    return anyio.run(read)


LINES = [b'{"n":%d}\n' % n for n in range(12)]


@given(st.lists(st.integers(1, 100), max_size=20))
def test_every_line_arrives_whole_and_once(cuts: list[int]) -> None:
    text, pieces = b"".join(LINES), []
    for cut in cuts:
        pieces.append(text[:cut])
        text = text[cut:]
    pieces = [piece for piece in [*pieces, text] if piece]
    blocks, end = read_all(pieces)
    assert all(block.endswith(b"\n") for block in blocks)
    assert b"".join(blocks) == b"".join(LINES)
    assert end == WatchClosed(cut=False)


def test_half_a_line_at_the_end_is_a_cut() -> None:
    assert read_all([LINES[0] + b'{"half'])[1] == WatchClosed(cut=True)


@pytest.mark.parametrize(
    "error", [aiohttp.ClientPayloadError(), TimeoutError(), ConnectionResetError(), aiohttp.ServerDisconnectedError()]
)
def test_a_broken_connection_is_a_cut(error: Exception) -> None:
    assert read_all([LINES[0]], error) == ([LINES[0]], WatchClosed(cut=True))


def test_a_line_without_end_is_a_cut() -> None:
    piece = b"x" * (1 << 20)
    assert read_all([piece] * (MAX_LINE_BYTES // len(piece) + 2)) == ([], WatchClosed(cut=True))


def test_closing_closes_the_response() -> None:
    response = Response([])
    HttpWatch(cast(aiohttp.ClientResponse, response)).close()
    assert response.closed

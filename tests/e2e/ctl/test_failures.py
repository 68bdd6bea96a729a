"""What is said when no host answers, or one that can't."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import grpc
import pytest
from anyio import to_thread

from refloat_ctl.adapters.server import channel
from refloat_ctl.main import main

pytestmark = pytest.mark.anyio

Answer = Callable[[Any], Any]


class Everything(grpc.GenericRpcHandler):  # type: ignore[misc]  # the library is not typed
    """Answers every call in one way."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def service(self, _: object) -> Any:
        async def answer(_: bytes, context: Any) -> bytes:
            await self._answer(context)
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


@asynccontextmanager
async def server(answer: Answer | None) -> AsyncIterator[str]:
    """A server that answers every call in one way, or knows none; its address."""
    running = grpc.aio.server()
    if answer is not None:
        running.add_generic_rpc_handlers((Everything(answer),))
    port = running.add_insecure_port("127.0.0.1:0")
    await running.start()
    yield f"127.0.0.1:{port}"
    await running.stop(0)


async def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    code = await to_thread.run_sync(main, list(words))
    printed = capsys.readouterr()
    assert (code, printed.out) == (1, "")
    return printed.err


async def test_nobody_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert await complaint(capsys, "get", "executors", "--armadaUrl", "127.0.0.1:1") == (
        "Error: error getting executors: can't reach the server at 127.0.0.1:1: is the host running there? "
        "Start it (refloat host run) or name another with --armadaUrl\n"
    )


async def test_another_server_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    async with server(None) as address:
        assert await complaint(capsys, "get", "executors", "--armadaUrl", address) == (
            f"Error: error getting executors: the server at {address} can't do this; "
            "it is no Refloat host, or an older one\n"
        )


async def test_the_server_is_slow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(_: object) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(channel, "CALL_WITHIN_S", 0.2)
    async with server(sleep) as address:
        assert await complaint(capsys, "delete", "queue", "q", "--armadaUrl", address) == (
            f"Error: error deleting queue q: the server at {address} did not answer within 0.2 seconds\n"
        )


async def test_a_long_answer_is_one_line_and_says_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    async def abort(context: Any) -> None:
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, "error deleting queue q:\n  ann lacks\ndelete_queue")

    async with server(abort) as address:
        assert await complaint(capsys, "delete", "queue", "q", "--armadaUrl", address) == (
            "Error: error deleting queue q: ann lacks delete_queue\n"
        )


async def test_who_asks_is_said_and_what_is_missing_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    async def abort(context: Any) -> None:
        asked.append(dict(context.invocation_metadata()))
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you")

    async with server(abort) as address:
        file = tmp_path / "config.yaml"
        login = "basicAuth: {username: ann, password: secret}"
        file.write_text(f'currentContext: x\ncontexts: {{x: {{armadaUrl: "{address}", {login}}}, other: {{}}}}')
        words = ("delete", "queue", "q", "--config", str(file))
        assert await complaint(capsys, *words) == (
            "Error: error deleting queue q: who are you; give basicAuth in the configuration file (--config)\n"
        )
        await complaint(capsys, *words, "-c", "other", "--armadaUrl", address)
    assert asked[0]["authorization"] == "Basic YW5uOnNlY3JldA=="
    assert "authorization" not in asked[1]

"""Serves /health and /healthz: 204 while the daemon's loops turn, else 503 (Armada's codes)."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

PATHS = ("/health", "/healthz")


class PortTakenError(Exception):
    """An address that can't be listened on."""

    def __init__(self, what: str, address: str, port: int, why: str) -> None:
        super().__init__(f"{what} can't be served on {address}:{port}: {why}")


@asynccontextmanager
async def serve_health(address: str, port: int, healthy: Callable[[], bool]) -> AsyncIterator[int]:
    """Serve for as long as the context lasts; gives the port, which is a free one if 0 was asked for.

    Raises:
        PortTakenError: the address can't be listened on.
    """

    async def answer(_request: web.Request) -> web.Response:
        if healthy():
            return web.Response(status=204)
        return web.Response(status=503, text="the executor's loops have stood still\n")

    application = web.Application()
    application.add_routes([web.get(path, answer) for path in PATHS])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address, port)
        try:
            await site.start()
        except OSError as error:
            raise PortTakenError("health", address, port, error.strerror or str(error)) from None
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()

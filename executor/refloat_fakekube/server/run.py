"""Starts and stops an API server on a socket."""

import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from refloat_fakekube.server.admin import Admin
from refloat_fakekube.server.clock import SeededIds, SystemClock
from refloat_fakekube.server.server import ApiServer
from refloat_fakekube.server.settings import ServerSettings

_SHUTDOWN_S = 0.5


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens at `url`."""

    url: str
    server: ApiServer
    admin: Admin


def _tls(settings: ServerSettings) -> ssl.SSLContext | None:
    if settings.cert_file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings.cert_file, settings.key_file)
    return context


@asynccontextmanager
async def running_server(settings: ServerSettings, rng: random.Random) -> AsyncIterator[Running]:
    """An API server for the length of the block; leaving it ends every watch and closes the socket."""
    server = ApiServer(settings, SystemClock().now_s, SeededIds(rng))
    admin = Admin(server)
    server.admin = admin.handle
    runner = web.ServerRunner(
        web.Server(server.handle, access_log=None, handler_cancellation=True), shutdown_timeout=_SHUTDOWN_S
    )
    await runner.setup()
    try:
        tls = _tls(settings)
        site = web.TCPSite(runner, settings.host, settings.port, ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        yield Running(f"{'https' if tls else 'http'}://{settings.host}:{port}", server, admin)
    finally:
        server.hub.cut("eof")
        await runner.cleanup()

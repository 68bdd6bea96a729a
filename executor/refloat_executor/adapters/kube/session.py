"""Sends single HTTP requests and opens streams, with timeouts, our credentials, and nothing from the environment."""

import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from yarl import URL

from refloat_executor.adapters.kube.credentials import Credentials, KubeConfigError
from refloat_executor.adapters.kube.stream import HttpWatch
from refloat_executor.adapters.kube.translate import OK, answer_of, refusal_of, refusal_of_error
from refloat_executor.core.cluster.answers import Answer, Denied, Refusal

CONNECT_TIMEOUT_S = 5.0
WATCH_SILENCE_S = 30.0
"""So much longer than the asked time a watch may be silent before it is cut."""
WATCH_BUFFER_BYTES = 1 << 18
MAX_CONNECTIONS = 64
RELOAD_GAP_S = 10.0
UNAUTHORIZED = 401
DEAD_PEER_MS = 20_000
"""A peer that acknowledges nothing for so long is gone (TCP_USER_TIMEOUT): half-open connections end."""
_WATCHED = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 2, "TCP_USER_TIMEOUT": DEAD_PEER_MS}
USER_AGENT = "refloat-executor"


@dataclass(slots=True)
class _Sessions:
    """One for requests, one for watches: a watch never holds a connection that a write waits for."""

    requests: aiohttp.ClientSession
    watches: aiohttp.ClientSession


class HttpApi:
    """Requests to one API server. Made by `open_http`."""

    def __init__(self, credentials: Credentials, sessions: _Sessions) -> None:
        self._credentials = credentials
        self._sessions = sessions
        self._reloaded_s = 0.0

    async def ask(self, method: str, path: str, *, timeout_s: float, body: bytes | None = None) -> Answer:
        """Send a request and say what came of it. Nothing is tried again."""
        timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_TIMEOUT_S)
        try:
            async with self._sessions.requests.request(
                method,
                self._url(path),
                data=body,
                headers=await self._headers(body),
                timeout=timeout,
                ssl=self._credentials.ssl or True,
                server_hostname=self._credentials.server_name,
                proxy=self._credentials.proxy,
                allow_redirects=False,
            ) as response:
                answer = answer_of(response.status, await response.read(), response.headers.get("Retry-After"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            answer = refusal_of_error(error)
            await self._renew(error)
        if isinstance(answer, Denied) and answer.code == UNAUTHORIZED:
            await self._renew(None)
        return answer

    async def open_watch(self, path: str, timeout_s: float) -> HttpWatch | Refusal:
        """Open a stream that the server ends after `timeout_s`; the caller closes it."""
        silence_s = timeout_s + WATCH_SILENCE_S
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=silence_s)
        try:
            response = await self._sessions.watches.get(
                self._url(path),
                headers=await self._headers(None),
                timeout=timeout,
                ssl=self._credentials.ssl or True,
                server_hostname=self._credentials.server_name,
                proxy=self._credentials.proxy,
                allow_redirects=False,
            )
            if response.status == OK:
                return HttpWatch(response)
            refused = refusal_of(response.status, await response.read(), response.headers.get("Retry-After"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            refused = refusal_of_error(error)
            await self._renew(error)
        if isinstance(refused, Denied) and refused.code == UNAUTHORIZED:
            await self._renew(None)
        return refused

    def _url(self, path: str) -> URL:
        return URL(self._credentials.host + path, encoded=True)

    async def _headers(self, body: bytes | None) -> dict[str, str]:
        headers = await self._credentials.headers()
        headers["Accept"] = "application/json"
        if body is not None:
            headers["Content-Type"] = "application/json"
        return headers

    async def _renew(self, error: Exception | None) -> None:
        """Read the credentials again where they are at fault, now and then; the old ones stay if that fails."""
        if error is not None and not isinstance(error, aiohttp.ClientConnectorCertificateError):
            return
        now_s = time.monotonic()
        if self._reloaded_s and now_s - self._reloaded_s < RELOAD_GAP_S:
            return
        self._reloaded_s = now_s
        try:
            await self._credentials.reload()
        except KubeConfigError:
            return


@asynccontextmanager
async def open_http(credentials: Credentials) -> AsyncIterator[HttpApi]:
    """Sessions to the API server of these credentials, for as long as the context lasts."""
    headers = {"User-Agent": USER_AGENT}
    async with (
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS), trust_env=False, headers=headers
        ) as requests,
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True, socket_factory=_watched_socket),
            trust_env=False,
            headers=headers,
            read_bufsize=WATCH_BUFFER_BYTES,
        ) as watches,
    ):
        yield HttpApi(credentials, _Sessions(requests, watches))


def _watched_socket(address: tuple[object, ...]) -> socket.socket:
    """A socket that notices a peer which is gone without a word."""
    family, kind, protocol = address[0], address[1], address[2]
    made = socket.socket(family, kind, protocol)  # type: ignore[arg-type]  # as getaddrinfo gives them
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 10),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 2),
        ("TCP_USER_TIMEOUT", DEAD_PEER_MS),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made

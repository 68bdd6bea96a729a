"""Talks to a Kubernetes API server over HTTP: the few verbs that kubelets need, and a watch that never gives up."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import aiohttp

from refloat_fakekube.core.objects import Json, NotAnObjectError, decode, encode, text

_TOTAL_S = 30.0
_LINE_BYTES = 32 << 20
_CONNECTIONS = 64
_CLOSING_TURNS = 5
_GOODBYE_S = 0.02
_FIRST_FAILURE = 400
_AGENT = "refloat-fake-kubelet"


@dataclass(frozen=True, slots=True)
class Access:
    """Where an API server is and how to get in: base URL, bearer token, and the CA certificate's file if any."""

    url: str
    token: str = field(default="", repr=False)
    ca_file: str = ""


class ApiError(Exception):
    """The server refused, or could not be asked (code 0)."""

    def __init__(self, method: str, path: str, code: int, message: str) -> None:
        super().__init__(f"{method} {path}: {code} {message}")
        self.code = code


class ApiClient:
    """One session with an API server, to be used as an asynchronous context manager."""

    def __init__(self, access: Access) -> None:
        tls: ssl.SSLContext | bool = True
        if access.ca_file:
            tls = ssl.create_default_context(cafile=access.ca_file)
        headers = {"User-Agent": _AGENT}
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        self._url = access.url.rstrip("/")
        self._tls = tls
        self._headers = headers
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=_CONNECTIONS, ssl=self._tls)
        timeout = aiohttp.ClientTimeout(total=_TOTAL_S)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=self._headers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            # Sockets are closed by the loop in its next turns; TLS connections whose request was cancelled say goodbye
            # to the server first.
            for _ in range(_CLOSING_TURNS):
                await asyncio.sleep(_GOODBYE_S if self._url.startswith("https") else 0)

    @property
    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise ApiError("", "", 0, "the session is not open")
        return self._session

    async def call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Json:
        """One request; gives the object it answers with.

        Raises:
            ApiError: the server refused, could not be reached, or answered something else.
        """
        data = None if body is None else encode(body)
        headers = {} if data is None else {"Content-Type": content_type}
        try:
            url = self._url + path
            async with self._open.request(method, url, data=data, headers=headers, params=query) as response:
                answer = await response.read()
                if response.status >= _FIRST_FAILURE:
                    raise ApiError(method, path, response.status, _message(answer))
                return decode(answer)
        except (aiohttp.ClientError, TimeoutError, NotAnObjectError) as error:
            raise ApiError(method, path, 0, repr(error)) from error

    async def patch(self, path: str, body: Json) -> Json:
        """A strategic merge patch."""
        return await self.call("PATCH", path, body, content_type="application/strategic-merge-patch+json")

    async def lines(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[Json, None]:
        """The lines of a watch until the stream ends.

        Raises:
            ApiError: the server refused, or the stream broke.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_TOTAL_S)
        try:
            async with self._open.get(self._url + path, params=query, timeout=timeout) as response:
                if response.status >= _FIRST_FAILURE:
                    raise ApiError("WATCH", path, response.status, _message(await response.read()))
                count = 0
                try:
                    while line := await response.content.readline(max_line_length=_LINE_BYTES):
                        yield decode(line)
                        count += 1
                        if count % 64 == 0:
                            await asyncio.sleep(0)
                finally:
                    # A watch is left in the middle of its stream: a polite end of TLS would wait for the server's.
                    connection = response.connection
                    if connection is not None and connection.transport is not None:
                        connection.transport.abort()
        except (aiohttp.ClientError, TimeoutError, NotAnObjectError) as error:
            raise ApiError("WATCH", path, 0, repr(error)) from error


def _message(answer: bytes) -> str:
    try:
        return text(decode(answer), "message")
    except NotAnObjectError:
        return answer[:200].decode(errors="replace")

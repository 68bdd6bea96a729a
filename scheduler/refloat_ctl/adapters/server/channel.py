"""Calls the server over gRPC, and says in the user's words why a call failed."""

import base64
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, Self

import grpc

from refloat_ctl.core.contexts import Connection, is_loopback
from refloat_ctl.core.errors import RefusedError

CALL_WITHIN_S: Final = 10.0
"""As armadactl's for writes; a server that answers at all answers sooner."""

MAX_MESSAGE_BYTES: Final = 64 << 20
"""Answers may be longer than requests."""

Method = Callable[..., Any]


class Channel:
    """A connection to the server, opened by the first call. A context manager."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._metadata = _metadata(connection)
        options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.keepalive_time_ms", 60_000)]
        if is_loopback(connection.url):
            options.append(("grpc.enable_http_proxy", 0))
        if connection.secure:
            self.grpc = grpc.secure_channel(connection.url, grpc.ssl_channel_credentials(), options)
        else:
            self.grpc = grpc.insecure_channel(connection.url, options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.grpc.close()

    def call(self, method: Method, request: object) -> Any:
        """One request, one answer.

        Raises:
            RefusedError: there is none.
        """
        try:
            return method(request, timeout=CALL_WITHIN_S, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._refused(error) from None

    def stream(self, method: Method, request: object, *, endless: bool = False) -> Iterator[Any]:
        """One request, many answers, as they come.

        Raises:
            RefusedError: the stream broke.
        """
        try:
            yield from method(request, timeout=None if endless else CALL_WITHIN_S, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._refused(error) from None

    def _refused(self, error: Any) -> RefusedError:
        code: str = error.code().name
        text = " ".join(str(error.details()).split()).removeprefix("error: ")
        url = self._connection.url
        match code:
            case "UNAVAILABLE" if not text.startswith("error "):
                remedy = "is the host running there? Start it (refloat host run) or name another with --armadaUrl"
                return RefusedError(code, f"can't reach the server at {url}: {remedy}")
            case "DEADLINE_EXCEEDED" if not text.startswith("error "):
                return RefusedError(code, f"the server at {url} did not answer within {CALL_WITHIN_S:g} seconds")
            case "UNIMPLEMENTED":
                return RefusedError(code, f"the server at {url} can't do this; it is no Refloat host, or an older one")
            case "UNAUTHENTICATED":
                return RefusedError(code, f"{text}; give basicAuth in the configuration file (--config)")
        return RefusedError(code, text or code)


def _metadata(connection: Connection) -> list[tuple[str, str]]:
    login = connection.login
    if login is None:
        return []
    coded = base64.b64encode(f"{login.username}:{login.password}".encode()).decode()
    return [("authorization", f"Basic {coded}")]

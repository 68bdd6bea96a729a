"""How processes of the product ask a simulated API server: below the executor's and the kubelets' own clients."""

from collections.abc import AsyncIterator, Mapping
from typing import cast
from urllib.parse import urlencode

from refloat_executor.adapters.kube.api import KubeHttp
from refloat_executor.adapters.kube.session import HttpApi
from refloat_executor.adapters.kube.translate import answer_of, refusal_of
from refloat_executor.core.cluster.answers import Answer, Refusal, Unsent
from refloat_executor.core.cluster.reflector import WatchClosed
from refloat_fakekube.core.objects import Json, decode, encode, text
from refloat_fakekube.core.protocol.bodies import Body
from refloat_fakekube.kubelet.client import ApiClient, ApiError
from testkit.world.apiserver import (
    JSON,
    HttpRequest,
    SimApiServer,
    SimWatch,
    UnreachableError,
    is_good,
    json_lines,
)


def executor_client(server: SimApiServer) -> KubeHttp:
    """The executor's own client, with the simulated server below it."""
    return KubeHttp(cast(HttpApi, _SimHttp(server)))


def kubelet_client(server: SimApiServer) -> ApiClient:
    """The kubelets' client."""
    return cast(ApiClient, _SimApiClient(server))


class _SimHttp:
    """What `HttpApi` offers the executor's client."""

    def __init__(self, server: SimApiServer) -> None:
        self._server = server

    async def ask(self, method: str, path: str, *, timeout_s: float, body: bytes | None = None) -> Answer:
        """See `HttpApi.ask`. The simulated server never takes longer than `timeout_s`."""
        del timeout_s
        try:
            answer = await self._server.ask(HttpRequest(method, path, body or b""))
        except UnreachableError:
            return Unsent("the server is down")
        return answer_of(answer.code, answer.data, _retry_after(answer))

    async def open_watch(self, path: str, timeout_s: float) -> "_ExecutorWatch | Refusal":
        """See `HttpApi.open_watch`."""
        del timeout_s
        try:
            opened = await self._server.watch(HttpRequest("GET", path))
        except UnreachableError:
            return Unsent("the server is down")
        if isinstance(opened, SimWatch):
            return _ExecutorWatch(opened)
        return refusal_of(opened.code, opened.data, _retry_after(opened))


class _ExecutorWatch:
    """What `HttpWatch` offers the executor."""

    def __init__(self, watch: SimWatch) -> None:
        self._watch = watch

    async def next_block(self) -> bytes | WatchClosed:
        """See `HttpWatch.next_block`."""
        block = await self._watch.lines()
        return WatchClosed(cut=self._watch.was_cut) if block is None else block

    def close(self) -> None:
        """See `HttpWatch.close`."""
        self._watch.close()


class _SimApiClient:
    """What `ApiClient` offers the kubelets."""

    def __init__(self, server: SimApiServer) -> None:
        self._server = server

    async def call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> Json:
        """See `ApiClient.call`."""
        url = f"{path}?{urlencode(query)}" if query else path
        data = b"" if body is None else encode(body)
        try:
            answer = await self._server.ask(HttpRequest(method, url, data, content_type if data else ""))
        except UnreachableError:
            raise ApiError(method, path, 0, "the server is down") from None
        if not is_good(answer):
            raise ApiError(method, path, answer.code, text(decode(answer.data), "message"))
        return decode(answer.data)

    async def patch(self, path: str, body: Json) -> Json:
        """See `ApiClient.patch`."""
        return await self.call("PATCH", path, body, content_type="application/strategic-merge-patch+json")

    async def lines(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Json]:
        """See `ApiClient.lines`."""
        try:
            opened = await self._server.watch(HttpRequest("GET", f"{path}?{urlencode(query)}"))
        except UnreachableError:
            raise ApiError("WATCH", path, 0, "the server is down") from None
        if not isinstance(opened, SimWatch):
            raise ApiError("WATCH", path, opened.code, text(decode(opened.data), "message"))
        while (block := await opened.lines()) is not None:
            for line in json_lines(block):
                yield decode(line)


def _retry_after(answer: Body) -> str | None:
    return str(answer.retry_after_s) if answer.retry_after_s else None

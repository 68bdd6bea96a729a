"""The API server: one aiohttp server around one store; every request is answered in the order the loop runs it."""

import asyncio
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from refloat_fakekube.core.objects import encode
from refloat_fakekube.core.protocol.bodies import Body, Shape, error_line, write
from refloat_fakekube.core.protocol.discovery import document, is_document
from refloat_fakekube.core.protocol.faults import Fault, FaultPlan
from refloat_fakekube.core.protocol.parameters import Call, timeout_s, to_request, to_watch
from refloat_fakekube.core.protocol.routes import Route, parse_route, stored
from refloat_fakekube.core.protocol.shapes import shape_of, to_stored
from refloat_fakekube.core.refusals import ExpiredError, NotServedError, RefusalError, TooLargeError, UnauthorizedError
from refloat_fakekube.core.store.answers import Applied, Ids
from refloat_fakekube.core.store.records import Change
from refloat_fakekube.core.store.requests import Request
from refloat_fakekube.core.store.store import Store
from refloat_fakekube.server.hub import Hub, Watcher
from refloat_fakekube.server.settings import ServerSettings
from refloat_fakekube.server.streams import Stream

_HEALTH = {"/healthz", "/readyz", "/livez"}
_LOG_MAX = 20_000
_NO_LINGER = struct.pack("ii", 1, 0)
_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Served:
    """One answered call, for tests: RBAC verb and resource, the object, the code (0: connection cut), who asked."""

    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    agent: str


class ApiServer:
    """The state of one server: store, watchers, faults, counters; `handle` answers one HTTP request."""

    def __init__(self, settings: ServerSettings, now_s: Callable[[], float], ids: Ids) -> None:
        self.settings = settings
        self.store = Store(settings.history)
        self.hub = Hub()
        self.faults = FaultPlan()
        self.counts: Counter[tuple[str, str, int]] = Counter()
        self.served: deque[Served] = deque(maxlen=_LOG_MAX)
        self.admin: Callable[[web.BaseRequest, bytes], web.Response] | None = None
        self._now_s, self._ids = now_s, ids
        self.store.begin(now_s(), ids)

    def apply(self, request: Request) -> Applied:
        """Carry out a request of the store and tell the watchers."""
        applied = self.store.apply(request, self._now_s(), self._ids)
        self.publish(applied.changes)
        return applied

    def publish(self, changes: Iterable[Change]) -> None:
        """Tell the watchers of changes."""
        self.hub.publish(changes, self._now_s())

    def release(self) -> None:
        """Tell the watchers what was kept back."""
        self.hub.release(self._now_s())

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        path = request.path
        try:
            self._authorize(request)
            if path in _HEALTH:
                return web.Response(text="ok")
            body = await self._read(request)
            if path.startswith("/_fake/") and self.admin is not None:
                return self.admin(request, body)
            if is_document(path):
                return _plain(Body(HTTPStatus.OK, encode(document(path))))
            route = parse_route(request.method, path, request.query)
        except RefusalError as refusal:
            return _refused(refusal)
        return await self._serve(request, route, body)

    def _authorize(self, request: web.BaseRequest) -> None:
        if self.settings.token and request.headers.get("Authorization") != f"Bearer {self.settings.token}":
            raise UnauthorizedError

    async def _read(self, request: web.BaseRequest) -> bytes:
        limit = self.settings.body_limit_bytes
        if (request.content_length or 0) > limit:
            raise TooLargeError(limit)
        body = bytearray()
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > limit:
                raise TooLargeError(limit)
        return bytes(body)

    async def _serve(self, request: web.BaseRequest, route: Route, body: bytes) -> web.StreamResponse:
        fault = self.faults.take(route)
        try:
            if fault is not None and fault.kind != "delay" and not fault.effect:
                return await self._fail(request, route, fault)
            if fault is not None and fault.kind == "delay":
                await asyncio.sleep(fault.seconds)
            response = await self._answer(request, route, body)
            if fault is not None and fault.kind != "delay":
                return await self._fail(request, route, fault)
        except RefusalError as refusal:
            response = _refused(refusal)
        self._count(request, route, response.status)
        return response

    async def _fail(self, request: web.BaseRequest, route: Route, fault: Fault) -> web.StreamResponse:
        match fault.kind:
            case "status":
                self._count(request, route, fault.code)
                return _refused(fault.refusal(route))
            case "body":
                self._count(request, route, fault.code)
                return web.Response(status=fault.code, text=fault.body, content_type="text/html")
            case "hang":
                await asyncio.sleep(fault.seconds)
        self._count(request, route, 0)
        _reset(request)
        return web.Response()

    def _count(self, request: web.BaseRequest, route: Route, code: int) -> None:
        target = route.target
        self.counts[route.verb, route.resource_path, code] += 1
        agent = request.headers.get("User-Agent", "")
        self.served.append(Served(route.verb, route.resource_path, target.namespace, target.name, code, agent))

    async def _answer(self, request: web.BaseRequest, route: Route, body: bytes) -> web.StreamResponse:
        shape = self._shape(request, route)
        content_type = request.content_type if "Content-Type" in request.headers else ""
        call = Call(stored(route), request.query, to_stored(route, body), content_type)
        if route.verb == "watch":
            return await self._watch(request, call, shape)
        return _plain(write(self.apply(to_request(call)).answer, shape, self._now_s()))

    def _shape(self, request: web.BaseRequest, route: Route) -> Shape:
        include = request.query.get("includeObject", "Metadata")
        return shape_of(route, request.headers.get("Accept", ""), include)

    async def _watch(self, request: web.BaseRequest, call: Call, shape: Shape) -> web.StreamResponse:
        asked, settings = to_watch(call), self.settings
        watcher = Watcher(asked.selector, shape, settings.watch_backlog_bytes)
        table = asked.target.resource.id
        response = web.StreamResponse(headers=_JSON)
        response.enable_chunked_encoding()
        try:
            opened = self.store.watch(asked)
        except ExpiredError as expired:
            await response.prepare(request)
            await response.write(error_line(expired))
            return response
        self.hub.join(table, watcher)
        try:
            await response.prepare(request)
            stream = Stream(response, asked, shape, watcher, self._now_s)
            lasts_s = timeout_s(call) or settings.watch_timeout_s
            await stream.run(opened, lambda: self.hub.version, settings.bookmark_interval_s, lasts_s)
        except ConnectionError:
            watcher.end("reset")
        finally:
            self.hub.leave(table, watcher)
        if watcher.cut == "reset":
            _reset(request)
        return response


def _reset(request: web.BaseRequest) -> None:
    """Break the connection so that the client notices: what is unsent is lost, and TCP says RST."""
    transport = request.transport
    if transport is not None:
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        transport.abort()


def _plain(body: Body) -> web.Response:
    headers = {**_JSON, "Retry-After": str(body.retry_after_s)} if body.retry_after_s else _JSON
    return web.Response(status=body.code, body=body.data, headers=headers)


def _refused(refusal: RefusalError) -> web.Response:
    if isinstance(refusal, NotServedError):
        return web.Response(status=refusal.code, text=refusal.message)
    return _plain(Body(refusal.code, encode(refusal.status()), refusal.retry_after_s))

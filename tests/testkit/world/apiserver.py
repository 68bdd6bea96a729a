"""A simulated cluster's API server: the fake cluster's store and protocol, asked over a wire that takes time.

A request that was sent arrives whether or not its sender lives, and an answer to a dead sender is lost; so a kill
falls before the request, between its effect and its answer, or after the answer, as with a real server.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from refloat_fakekube.core.objects import encode, section, text
from refloat_fakekube.core.protocol.bodies import Body, write
from refloat_fakekube.core.protocol.parameters import Call, timeout_s, to_request, to_watch
from refloat_fakekube.core.protocol.routes import Route, parse_route, stored
from refloat_fakekube.core.protocol.shapes import shape_of, to_stored
from refloat_fakekube.core.refusals import RefusalError
from refloat_fakekube.core.store.records import Change
from refloat_fakekube.core.store.store import Store
from refloat_fakekube.server.clock import SeededIds
from refloat_fakekube.server.hub import Hub, Watcher
from refloat_fakekube.server.streams import Stream
from testkit.virtual.clock import EPOCH_MS
from testkit.virtual.process import SimProcess, current_process
from testkit.virtual.run import World

BACKLOG_BYTES = 64 << 20
BOOKMARK_INTERVAL_S = 60.0
DEFAULT_WATCH_S = 1800.0
JSON = "application/json"


class UnreachableError(Exception):
    """No connection could be made: the request had no effect."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; `path` holds the query."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = JSON


class SimApiServer:
    """The API server of the cluster `name`. While `down`, nothing can be asked of it."""

    def __init__(self, world: World, name: str, delay_s: tuple[float, float] = (0.001, 0.004)) -> None:
        self.name = name
        self.down = False
        self.store = Store()
        self.hub = Hub()
        self._world = world
        self._loop = world.loop
        self._delay_s = delay_s
        self._delays = world.streams.of(f"kube/{name}/delay")
        self._ids = SeededIds(world.streams.of(f"kube/{name}/ids"))
        self.store.begin(self.now_s(), self._ids)

    def now_s(self) -> float:
        """Seconds since 1970, as the whole cluster tells time."""
        return EPOCH_MS / 1000 + self._loop.time()

    async def ask(self, request: HttpRequest) -> Body:
        """Send a request of the current process and wait for the answer.

        Raises:
            UnreachableError: the server is down.
        """
        current_process()
        answered: asyncio.Future[Body] = self._loop.create_future()
        self._later(self._serve, request, answered)
        return await answered

    async def watch(self, request: HttpRequest) -> "Body | SimWatch":
        """Open a watch for the current process; a Body is the refusal.

        Raises:
            UnreachableError: the server is down.
        """
        await asyncio.sleep(self._delay())
        if self.down:
            raise UnreachableError
        try:
            route, call = _understood(request)
            asked = to_watch(call)
            shape = shape_of(route, JSON, "")
            opened = self.store.watch(asked)
        except RefusalError as refusal:
            return Body(refusal.code, encode(refusal.status()), refusal.retry_after_s)
        watcher = Watcher(asked.selector, shape, BACKLOG_BYTES)
        response = SimWatch(current_process(), watcher)
        stream = Stream(response, asked, shape, watcher, self.now_s)  # type: ignore[arg-type]  # all that it asks for is `write`
        table = asked.target.resource.id
        self.hub.join(table, watcher)

        async def serve() -> None:
            lasts_s = timeout_s(call) or DEFAULT_WATCH_S
            with suppress(ConnectionError):
                await stream.run(opened, lambda: self.hub.version, BOOKMARK_INTERVAL_S, lasts_s)
            self.hub.leave(table, watcher)
            response.end(cut=watcher.cut not in {"", "eof", "expired"})

        response.server = self._loop.create_task(serve(), context=Context())
        return response

    def _serve(self, request: HttpRequest, answered: "asyncio.Future[Body]") -> None:
        if self.down:
            self._later(_refuse_connection, answered)
            return
        body = self._answer(request)
        self._later(_settle, answered, body)

    def _answer(self, request: HttpRequest) -> Body:
        try:
            route, call = _understood(request)
            applied = self.store.apply(to_request(call), self.now_s(), self._ids)
        except RefusalError as refusal:
            return Body(refusal.code, encode(refusal.status()), refusal.retry_after_s)
        body = write(applied.answer, shape_of(route, JSON, ""), self.now_s())
        if route.target.resource.plural == "pods":
            self._tell(route, body, applied.changes)
        self.hub.publish(applied.changes, self.now_s())
        return body

    def _tell(self, route: Route, body: Body, changes: tuple[Change, ...]) -> None:
        """The truth about pods, for the invariants: who asked for what, and what became of it."""
        if route.verb not in {"list", "get"}:
            self._world.trace.add(
                "kube.call",
                cluster=self.name,
                verb=route.verb,
                resource=route.resource_path,
                name=route.target.name,
                code=int(body.code),
            )
        for change in changes:
            now = change.after or change.before
            if now is not None and change.table == "pods":
                phase = text(now.read(), "status", "phase") if change.after else "Removed"
                deleting = bool(section(now.read(), "metadata").get("deletionTimestamp"))
                self._world.trace.add(
                    "truth.pod", cluster=self.name, name=now.name, uid=now.uid, phase=phase, deleting=deleting
                )

    def _delay(self) -> float:
        return self._delays.uniform(*self._delay_s)

    def _later(self, call: object, *arguments: object) -> None:
        self._loop.call_later(self._delay(), call, *arguments, context=Context())  # type: ignore[arg-type]  # bound here


class SimWatch:
    """The client's end of an open watch, and the response that the server writes to."""

    def __init__(self, owner: SimProcess, watcher: Watcher) -> None:
        self.server: asyncio.Task[None] | None = None
        self._owner = owner
        self._watcher = watcher
        self._blocks: list[bytes] = []
        self._news = asyncio.Event()
        self._ended: bool | None = None

    async def write(self, data: bytes) -> None:
        """Take what the server writes; a dead or gone client breaks the connection."""
        if not self._owner.alive or self._ended is not None:
            raise ConnectionResetError
        self._blocks.append(data)
        self._news.set()
        await asyncio.sleep(0)

    def end(self, *, cut: bool) -> None:
        """The server is done with it."""
        if self._ended is None:
            self._ended = cut
        self._news.set()

    async def lines(self) -> bytes | None:
        """What has arrived, in whole lines; None at the end of the stream."""
        while not self._blocks and self._ended is None:
            self._news.clear()
            await self._news.wait()
        blocks, self._blocks = self._blocks, []
        return b"".join(blocks) or None

    @property
    def was_cut(self) -> bool:
        """Whether the stream broke rather than being closed."""
        return self._ended is True

    def close(self) -> None:
        """The client leaves."""
        self._ended = self._ended or False
        self._watcher.end("eof")


def _understood(request: HttpRequest) -> tuple[Route, Call]:
    parts = urlsplit(request.path)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    route = parse_route(request.method, parts.path, query)
    return route, Call(stored(route), query, to_stored(route, request.body), request.content_type)


def _settle(answered: "asyncio.Future[Body]", body: Body) -> None:
    if not answered.done():
        answered.set_result(body)


def _refuse_connection(answered: "asyncio.Future[Body]") -> None:
    if not answered.done():
        answered.set_exception(UnreachableError())


def is_good(body: Body) -> bool:
    """Whether an answer is a success."""
    return body.code < HTTPStatus.BAD_REQUEST


def json_lines(block: bytes) -> Iterator[bytes]:
    """The lines of a block."""
    return (line for line in block.split(b"\n") if line)

"""Carries a reflector's wishes out: pages, watches, pauses; and hands what comes to the brain.

One task follows the pods of each namespace, one the nodes. It reads as fast as it can, but lets others run now and
then, and waits where the gate has too much to do.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, assert_never

import anyio
import anyio.lowlevel

from refloat_common.core.link.executor.values import Event, NodesObserved
from refloat_common.core.pods import Node, Pod
from refloat_executor.core.cluster import reflector
from refloat_executor.core.cluster.answers import Answer, Done, Refusal, describe
from refloat_executor.core.cluster.nodes import NodeDelta
from refloat_executor.core.cluster.reflector import (
    Apply,
    Effect,
    EventsArrived,
    FetchPage,
    News,
    OpenWatch,
    PageArrived,
    Reflector,
    Refused,
    Replace,
    Unreadable,
    WatchClosed,
)
from refloat_executor.core.cluster.wire import DELETED, Codec, UnreadableError
from refloat_executor.daemon.engine import Engine
from refloat_executor.daemon.ports import WatchStream

T = TypeVar("T", Pod, Node)

YIELD_EVERY_EVENTS = 100
"""About a millisecond: a stream that always has more never waits, so others would never run."""


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """One kind of object of the API: how to list and watch it, and what to do with what comes."""

    what: str
    codec: Codec[T]
    fetch: Callable[[int, str], Awaitable[Answer]]
    watch: Callable[[str, float], Awaitable[WatchStream | Refusal]]
    take: Callable[[Replace[T] | Apply[T]], None]


class Follower(Generic[T]):
    """Follows one source for ever."""

    def __init__(self, engine: Engine, source: Source[T]) -> None:
        self._engine = engine
        self._source: Source[T] = source
        self._state: Reflector[T] = Reflector()
        self.synced = anyio.Event()
        """Set once a first complete list was taken in."""

    async def run(self) -> None:
        """List, watch, and so on."""
        ask: FetchPage | OpenWatch = FetchPage()
        while True:
            if ask.pause_s:
                await anyio.sleep(ask.pause_s)
            match ask:
                case FetchPage():
                    ask = await self._fetch(ask)
                case OpenWatch():
                    ask = await self._watch(ask)
                case _:
                    assert_never(ask)

    async def _fetch(self, ask: FetchPage) -> FetchPage | OpenWatch:
        if not ask.token:
            self._engine.ports.meters.relist(self._source.what)
        answer = await self._source.fetch(ask.limit, ask.token)
        if not isinstance(answer, Done):
            self._complain("list", answer)
            return self._go_on(Refused(answer))
        try:
            page = self._source.codec.page(answer.body)
        except UnreadableError as error:
            self._engine.ports.log("warning", f"a list of {self._source.what} could not be read", {"error": str(error)})
            return self._go_on(Unreadable())
        return self._go_on(PageArrived(page))

    async def _watch(self, ask: OpenWatch) -> FetchPage | OpenWatch:
        opened = await self._source.watch(ask.version, ask.timeout_s)
        if isinstance(opened, Refusal):
            self._complain("watch", opened)
            return self._go_on(Refused(opened))
        busy = 0
        try:
            while True:
                block = await opened.next_block()
                if isinstance(block, WatchClosed):
                    return self._go_on(block)
                try:
                    events = self._source.codec.block(block)
                except UnreadableError as error:
                    self._engine.ports.log(
                        "warning", f"a watch of {self._source.what} could not be read", {"error": str(error)}
                    )
                    return self._go_on(Unreadable())
                after = self._step(EventsArrived(events))
                if after is not None:
                    return after
                await self._engine.room()
                busy += len(events)
                if busy >= YIELD_EVERY_EVENTS:
                    busy = 0
                    await anyio.lowlevel.checkpoint()
        finally:
            opened.close()

    def _go_on(self, news: News[T]) -> FetchPage | OpenWatch:
        after = self._step(news)
        assert after is not None, "the reflector asked for nothing"
        return after

    def _step(self, news: News[T]) -> FetchPage | OpenWatch | None:
        at = self._engine.moment()
        self._state, effects = reflector.step(self._state, news, at.now_s, at.dice)
        return self._carry_out(effects)

    def _carry_out(self, effects: tuple[Effect[T], ...]) -> FetchPage | OpenWatch | None:
        ask: FetchPage | OpenWatch | None = None
        for effect in effects:
            match effect:
                case FetchPage() | OpenWatch():
                    ask = effect
                case Replace():
                    self._source.take(effect)
                    self.synced.set()
                case Apply():
                    self._source.take(effect)
        return ask

    def _complain(self, verb: str, answer: Refusal) -> None:
        self._engine.ports.log("warning", f"a {verb} of {self._source.what} was refused", {"answer": describe(answer)})


def follow_pods(engine: Engine, namespace: str) -> Follower[Pod]:
    """Follows the managed pods of a namespace (empty: of all)."""
    kube = engine.ports.kube

    def take(effect: Replace[Pod] | Apply[Pod]) -> None:
        at = engine.moment()
        if isinstance(effect, Replace):
            engine.brain.listed(namespace, effect.items, at)
        else:
            engine.brain.watched(effect.events, at)
        engine.wake()

    source = Source(
        what="pods",
        codec=Codec(Pod),
        fetch=lambda limit, token: kube.list_pods(namespace, limit, token, managed_only=True),
        watch=lambda version, timeout_s: kube.watch_pods(namespace, version, timeout_s),
        take=take,
    )
    return Follower(engine, source)


def follow_nodes(engine: Engine, to_link: Callable[[Event], None]) -> Follower[Node]:
    """Follows the nodes, and tells the scheduler what changes of them."""
    kube, book = engine.ports.kube, engine.nodes

    def tell(delta: NodeDelta) -> None:
        if delta:
            to_link(NodesObserved(delta.upserted, delta.removed))

    def take(effect: Replace[Node] | Apply[Node]) -> None:
        if isinstance(effect, Replace):
            tell(book.replace(effect.items))
            return
        for event in effect.events:
            tell(book.remove(event.object) if event.type == DELETED else book.upsert(event.object))

    source = Source(what="nodes", codec=Codec(Node), fetch=kube.list_nodes, watch=kube.watch_nodes, take=take)
    return Follower(engine, source)

"""Sends the ledger's requests to the cluster and brings the answers back.

What removes pods goes before what creates them, and both share one token bucket. Many confirmations of one namespace
are answered by one complete list where that is cheaper; so are many reads of events.
"""

import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import assert_never

import anyio

from refloat_common.core.messages import Lease
from refloat_common.core.pods import Event
from refloat_common.core.regex import Pattern, to_bytes
from refloat_executor.core.cluster.answers import Answer, Broken, Done, Missing, Refusal, Silent, describe
from refloat_executor.core.cluster.bucket import Bucket
from refloat_executor.core.cluster.confirming import list_is_cheaper, one_list_of_events_is_cheaper
from refloat_executor.core.cluster.manifest import InvalidLeaseError, pod_body
from refloat_executor.core.cluster.reflector import PAGE_LIMIT
from refloat_executor.core.cluster.wire import UnreadableError, decode_event_page, decode_pod, decode_uid_page
from refloat_executor.core.ledger.values.effects import (
    ConfirmGone,
    CreatePod,
    DeletePod,
    Effect,
    ReadEvents,
    ReadPod,
)
from refloat_executor.core.ledger.values.news import (
    CreateForbidden,
    CreateImpossible,
    CreateRefused,
    DeleteAccepted,
    DeleteRefused,
    EventsRead,
    News,
    PodCreated,
    PodListed,
    PodRead,
    ReadFailed,
)
from refloat_executor.daemon.engine import Engine

Removal = DeletePod | ConfirmGone | ReadPod
_ORDER: dict[type[Removal], int] = {DeletePod: 0, ReadPod: 1, ConfirmGone: 2}
"""Deletions before the reads that one list may answer together."""
EVENT_READERS = 2
"""Few, beside the others: what comes while they read gathers and is read together, and no deletion waits for it."""

CREATE_RESERVE = 0.25
"""The share of the bucket that creates leave to removals while any of these wait."""
MAX_EVENTS = 100
"""Events of one pod that are looked at."""


class ClusterWork:
    """The requests that wait, and the workers that send them."""

    def __init__(
        self,
        engine: Engine,
        may_start: Callable[[str], bool],
        *,
        pool: str,
        fatal: tuple[Pattern, ...],
        bucket: Bucket,
    ) -> None:
        self._engine = engine
        self._ports = engine.ports
        self._may_start = may_start
        self._pool = pool
        self._fatal = fatal
        self._bucket = bucket
        self._removals: list[tuple[int, int, Removal]] = []
        self._confirms: dict[str, dict[int, ConfirmGone]] = {}
        self._events: dict[str, list[ReadEvents]] = {}
        self._creates: deque[CreatePod] = deque()
        self._count = 0
        self._removal_waits = anyio.Semaphore(0)
        self._event_waits = anyio.Semaphore(0)
        self._create_waits = anyio.Semaphore(0)

    def submit(self, effect: Effect) -> None:
        """Queue a request; there is at most one for each run, so the queue is as short as the ledger."""
        self._count += 1
        match effect:
            case CreatePod():
                self._creates.append(effect)
                self._create_waits.release()
                return
            case ConfirmGone():
                self._confirms.setdefault(effect.namespace, {})[self._count] = effect
            case ReadEvents():
                self._events.setdefault(effect.namespace, []).append(effect)
                self._event_waits.release()
                return
            case DeletePod() | ReadPod():
                pass
            case _:
                assert_never(effect)
        heapq.heappush(self._removals, (_ORDER[type(effect)], self._count, effect))
        self._removal_waits.release()

    async def run(self, removals: int, creates: int) -> None:
        """Send requests, so many of each kind at once, for ever."""
        async with anyio.create_task_group() as workers:
            for number in range(EVENT_READERS):
                workers.start_soon(self._read_events_for_ever, name=f"event reader {number}")
            for number in range(removals):
                workers.start_soon(self._remove_for_ever, name=f"removal worker {number}")
            for number in range(creates):
                workers.start_soon(self._create_for_ever, name=f"create worker {number}")

    # ---- creating

    async def _create_for_ever(self) -> None:
        while True:
            await self._create_waits.acquire()
            lease = self._creates.popleft().lease
            self._tell(lease.run, await self._create(lease))

    async def _create(self, lease: Lease) -> News:
        try:
            body = pod_body(lease, self._pool)
        except InvalidLeaseError as error:
            return CreateImpossible(str(error))
        await self._token(reserve=self._bucket.burst * CREATE_RESERVE if self._removals else 0.0)
        # As late as possible: what happens between this check and the server's clock can't be helped.
        if not self._may_start(lease.run):
            return CreateForbidden()
        answer = await self._call("create", lease.run, "", lambda: self._ports.kube.create_pod(lease.namespace, body))
        if not isinstance(answer, Done):
            return CreateRefused(answer, fatal=self._is_fatal(answer))
        try:
            return PodCreated(decode_pod(answer.body))
        except UnreadableError as error:
            return CreateRefused(Silent(str(error)), fatal=False)

    def _is_fatal(self, answer: Refusal) -> bool:
        text = to_bytes(describe(answer))
        return any(pattern.found_in(text) for pattern in self._fatal)

    # ---- removing

    async def _remove_for_ever(self) -> None:
        while True:
            await self._removal_waits.acquire()
            _, number, effect = heapq.heappop(self._removals)
            match effect:
                case DeletePod():
                    self._tell(effect.run, await self._delete(effect))
                case ReadPod():
                    self._tell(effect.run, await self._read(effect.run, effect.namespace, effect.name))
                case ConfirmGone():
                    if self._confirms[effect.namespace].pop(number, None) is not None:
                        await self._confirm(effect)
                case _:
                    assert_never(effect)

    # ---- looking at events

    async def _read_events_for_ever(self) -> None:
        while True:
            await self._event_waits.acquire()
            together = self._next_events()
            if not together:
                continue
            listed = await self._list_events(together)
            for each in together:
                self._tell(each.run, EventsRead(None if listed is None else tuple(listed[each.uid])))

    def _next_events(self) -> list[ReadEvents]:
        """One that waits, or all of its namespace where one list is cheaper; none that has waited too long."""
        namespace = next(iter(self._events), None)
        if namespace is None:
            return []
        waiting = [each for each in self._events.pop(namespace) if self._engine.brain.awaits_events(each.run)]
        if one_list_of_events_is_cheaper(len(waiting)):
            return waiting
        if len(waiting) > 1:
            # Behind the other namespaces.
            self._events[namespace] = waiting[1:]
        return waiting[:1]

    async def _list_events(self, waiting: Sequence[ReadEvents]) -> Mapping[str, list[Event]] | None:
        """The events of these pods by uid; None if they can't be had, or come too late for all."""
        alone, run = (waiting[0].uid, waiting[0].run) if len(waiting) == 1 else ("", "")
        found: dict[str, list[Event]] = {each.uid: [] for each in waiting}
        token = ""
        while any(self._engine.brain.awaits_events(each.run) for each in waiting):
            await self._token()
            answer = await self._call("list-events", run, alone, self._events_asked(waiting[0].namespace, alone, token))
            if not isinstance(answer, Done):
                return None
            try:
                page = decode_event_page(answer.body)
            except UnreadableError:
                return None
            for event in page.items or ():
                mine = found.get(alone or event.involved_object.uid)
                if mine is not None and len(mine) < MAX_EVENTS:
                    mine.append(event)
            token = page.metadata.continue_
            if alone or not token:
                return found
        return None

    def _events_asked(self, namespace: str, uid: str, token: str) -> Callable[[], Awaitable[Answer]]:
        limit = MAX_EVENTS if uid else PAGE_LIMIT
        return lambda: self._ports.kube.list_events(namespace, uid, limit, token)

    async def _delete(self, effect: DeletePod) -> News:
        await self._token()
        if effect.grace_s == 0:
            self._ports.meters.forced_delete()
        kube = self._ports.kube
        answer = await self._call(
            "delete",
            effect.run,
            effect.uid,
            lambda: kube.delete_pod(effect.namespace, effect.name, effect.uid, effect.version, effect.grace_s),
        )
        if not isinstance(answer, Done):
            return DeleteRefused(answer)
        self._ports.failpoint("executor.deleted")
        return DeleteAccepted()

    async def _read(self, run: str, namespace: str, name: str) -> News:
        await self._token()
        answer = await self._call("get", run, "", lambda: self._ports.kube.read_pod(namespace, name))
        match answer:
            case Missing():
                return PodRead(None)
            case Done(body):
                try:
                    return PodRead(decode_pod(body))
                except UnreadableError as error:
                    return ReadFailed(Broken(200, str(error)))
            case _:
                return ReadFailed(answer)

    async def _confirm(self, effect: ConfirmGone) -> None:
        """One read, or one list for all that wait in the namespace."""
        waiting = self._confirms[effect.namespace]
        if not list_is_cheaper(len(waiting) + 1, len(self._engine.brain.pods)):
            self._tell(effect.run, await self._read(effect.run, effect.namespace, effect.name))
            return
        together = [effect, *waiting.values()]
        waiting.clear()
        listed = await self._list_uids(effect.namespace)
        for each in together:
            if not isinstance(listed, frozenset):
                self._tell(each.run, ReadFailed(listed))
            else:
                self._tell(each.run, PodListed() if each.uid in listed else PodRead(None))

    async def _list_uids(self, namespace: str) -> frozenset[str] | Refusal:
        """Every uid of the namespace: all pods, whatever their labels, as of one version."""
        uids: set[str] = set()
        token = ""
        while True:
            await self._token()
            answer = await self._call("list", "", "", self._page_asked(namespace, token))
            if not isinstance(answer, Done):
                return answer
            try:
                page = decode_uid_page(answer.body)
            except UnreadableError as error:
                return Broken(200, str(error))
            uids.update(page.uids())
            token = page.metadata.continue_
            if not token:
                return frozenset(uids)

    def _page_asked(self, namespace: str, token: str) -> Callable[[], Awaitable[Answer]]:
        return lambda: self._ports.kube.list_pods(namespace, PAGE_LIMIT, token, managed_only=False)

    # ---- both

    async def _token(self, reserve: float = 0.0) -> None:
        while wait_s := self._bucket.take(self._ports.clock.monotonic_s(), reserve):  # noqa: ASYNC110  time gives it
            await anyio.sleep(wait_s)

    async def _call(self, verb: str, run: str, uid: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        began_s = self._ports.clock.monotonic_s()
        answer = await ask()
        outcome = type(answer).__name__.lower()
        self._ports.meters.kube_call(verb, outcome, self._ports.clock.monotonic_s() - began_s)
        self._ports.trace("kube.call", {"verb": verb, "run": run, "uid": uid, "result": outcome})
        if not isinstance(answer, Done | Missing):
            self._ports.log("info", "a request to the cluster was refused", {
                "verb": verb, "run": run, "answer": describe(answer)
            })  # fmt: skip
        return answer

    def _tell(self, run: str, news: News) -> None:
        self._engine.brain.answered(run, news, self._engine.moment())
        self._engine.wake()

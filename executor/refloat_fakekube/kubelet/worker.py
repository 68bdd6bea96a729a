"""Carries out what one pod asks of its kubelet, in order, one request after the other, until each is taken."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import assert_never

from refloat_fakekube.core.objects import Json, number, section, text, time_text
from refloat_fakekube.core.play.effects import (
    Disrupt,
    Effect,
    Hold,
    LoseNode,
    Record,
    Remove,
    WriteStatus,
    disruption_target,
)
from refloat_fakekube.core.play.events import about, kubelet_event
from refloat_fakekube.core.play.player import PodPlay
from refloat_fakekube.kubelet.client import ApiClient, ApiError

_PAUSES_S = (0.05, 0.1, 0.2, 0.5, 1.0)
_NOT_FOUND, _CONFLICT, _INVALID = 404, 409, 422
_CONFLICTS_MAX = 5
_EVENT_TRIES = 3
_CONTROLLER = "taint-eviction-controller"


Spawn = Callable[[Coroutine[None, None, None]], "asyncio.Task[None]"]
"""Starts a task whose failure ends the fleet."""


class PodWorker:
    """One pod: its play, its timer, and the effects that wait to be carried out.

    `alive` says whether the pod's node is alive: on a dead one nothing is written any more.
    """

    def __init__(
        self, client: ApiClient, pod: Json, play: PodPlay, *, now_s: Callable[[], float], spawn: Spawn
    ) -> None:
        self._client, self._play, self._now_s = client, play, now_s
        self._identity = about(pod)
        self._generation = number(pod, "metadata", "generation") or 1
        self.node = text(pod, "spec", "nodeName")
        namespace, name = text(pod, "metadata", "namespace"), text(pod, "metadata", "name")
        self._events = f"/api/v1/namespaces/{namespace}/events"
        self._path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        self._waiting: deque[Effect] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._release: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._spawn = spawn
        self._serial = 0
        self._recorded: dict[Record, tuple[str, int]] = {}
        self._missed: Json | None = None
        self.record_events = True
        self.alive: Callable[[], bool] = lambda: True
        self.lose_node: Callable[[], None] = lambda: None
        self.limit = asyncio.Semaphore(1)

    def seen(self, pod: Json) -> None:
        """The watch shows the pod."""
        self._missed = None if self.alive() else pod
        if self._missed is None:
            self._do(self._play.seen(pod, self._now_s()))

    def wake(self) -> None:
        """Time has passed, or the node has come back."""
        if not self.alive():
            return
        self._do(self._play.due(self._now_s()))
        if self._missed is not None:
            self.seen(self._missed)

    def stop(self) -> None:
        """The pod is gone, or the kubelet ends."""
        for planned in (self._timer, self._release, self._task):
            if planned is not None:
                planned.cancel()

    def _do(self, effects: list[Effect]) -> None:
        self._waiting.extend(effects)
        if self._waiting and (self._task is None or self._task.done()):
            self._task = self._spawn(self._work())
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wakes_s = self._play.wakes_s
        if wakes_s is not None:
            delay_s = max(0.0, wakes_s - self._now_s())
            self._timer = asyncio.get_running_loop().call_later(delay_s, self.wake)

    async def _work(self) -> None:
        while self._waiting and self.alive():
            effect = self._waiting.popleft()
            async with self.limit:
                await self._carry_out(effect)

    async def _carry_out(self, effect: Effect) -> None:
        match effect:
            case WriteStatus(patch):
                await self._insist("PATCH", f"{self._path}/status", patch)
            case Record():
                await self._record(effect, "kubelet", self.node)
            case Remove():
                await self._delete(0)
            case Disrupt(reason, message):
                await self._disrupt(reason, message)
            case Hold(finalizer, seconds):
                await self._insist("PATCH", self._path, {"metadata": {"finalizers": [finalizer]}})
                self._release = asyncio.get_running_loop().call_later(seconds, self._let_go, finalizer)
            case LoseNode():
                self.lose_node()
            case _:
                assert_never(effect)

    def _let_go(self, finalizer: str) -> None:
        patch: Json = {"metadata": {"$deleteFromPrimitiveList/finalizers": [finalizer]}}
        self._spawn(self._insist("PATCH", self._path, patch))

    async def _insist(self, method: str, path: str, body: Json) -> None:
        """Send until it is taken; a pod that is gone or replaced takes nothing any more."""
        tries = conflicts = 0
        strategic = "application/strategic-merge-patch+json" if method == "PATCH" else "application/json"
        while True:
            try:
                await self._client.call(method, path, body, content_type=strategic)
            except ApiError as error:
                conflicts += error.code == _CONFLICT
                if error.code in {_NOT_FOUND, _INVALID} or conflicts >= _CONFLICTS_MAX:
                    return
                await asyncio.sleep(_PAUSES_S[min(tries, len(_PAUSES_S) - 1)])
                tries += 1
            else:
                return

    async def _record(self, record: Record, component: str, host: str) -> None:
        if not self.record_events:
            return
        involved = {**self._identity, **({"fieldPath": record.path} if record.path else {})}
        known = self._recorded.get(record)
        if known is None:
            self._serial += 1
            event = kubelet_event(involved, record, component, host, self._now_s(), self._serial)
            self._recorded[record] = (text(event, "metadata", "name"), 1)
            await self._try(lambda: self._client.call("POST", self._events, event))
        else:
            name, count = known
            self._recorded[record] = (name, count + 1)
            again: Json = {"count": count + 1, "lastTimestamp": time_text(self._now_s())}
            await self._try(lambda: self._client.patch(f"{self._events}/{name}", again))

    async def _try(self, send: Callable[[], Awaitable[Json]]) -> None:
        """Events are best effort."""
        for pause_s in _PAUSES_S[:_EVENT_TRIES]:
            try:
                await send()
            except ApiError:
                await asyncio.sleep(pause_s)
            else:
                return

    async def _delete(self, grace_s: int | None) -> None:
        body: Json = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": self._identity["uid"]}}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        await self._insist("DELETE", self._path, body)

    async def _disrupt(self, reason: str, message: str) -> None:
        condition = disruption_target(reason, message, self._generation, self._now_s())
        uid: Json = {"uid": section(self._identity).get("uid")}
        await self._insist("PATCH", f"{self._path}/status", {"metadata": uid, "status": {"conditions": [condition]}})
        words = f"Marking for deletion Pod {text(self._identity, 'namespace')}/{text(self._identity, 'name')}"
        await self._record(Record("Normal", "TaintManagerEviction", words), _CONTROLLER, "")
        await self._delete(None)

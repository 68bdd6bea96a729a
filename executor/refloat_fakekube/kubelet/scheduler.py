"""A small scheduler: binds pending pods to nodes with room, and says why a pod fits nowhere."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from refloat_fakekube.core.control.scheduling import NodeRoom, Room, place, requests_of, room_of
from refloat_fakekube.core.objects import Json, encode, number, section, text
from refloat_fakekube.core.play.effects import Record
from refloat_fakekube.core.play.events import about, scheduler_event
from refloat_fakekube.kubelet.client import ApiClient, ApiError
from refloat_fakekube.kubelet.reflector import Reflector

_TERMINAL = ("Failed", "Succeeded")
_DEFAULT = "default-scheduler"
_RETRY_S = 0.2
_NOT_FOUND = 404


@dataclass(slots=True)
class _Waiting:
    """A pod that waits for a node: `like` is equal for pods that fit the same nodes, `told` is what was said of it."""

    pod: Json
    like: bytes
    told: str = ""


class _Queue:
    """Waiting pods by uid, and in groups of alike ones: where one of a group finds no node, no other does."""

    def __init__(self) -> None:
        self._groups: dict[bytes, dict[str, _Waiting]] = {}
        self._where: dict[str, bytes] = {}

    def put(self, uid: str, waiting: _Waiting) -> None:
        """Let a pod wait, at the end of its group."""
        self._groups.setdefault(waiting.like, {})[uid] = waiting
        self._where[uid] = waiting.like

    def get(self, uid: str) -> _Waiting | None:
        """A waiting pod."""
        like = self._where.get(uid)
        return None if like is None else self._groups[like][uid]

    def pop(self, uid: str) -> None:
        """A pod waits no more."""
        like = self._where.pop(uid, None)
        if like is not None:
            group = self._groups[like]
            del group[uid]
            if not group:
                del self._groups[like]

    def groups(self) -> list[list[tuple[str, _Waiting]]]:
        """The pods that wait now, group by group."""
        return [[*group.items()] for group in self._groups.values()]


class Scheduler:
    """Follows pods and nodes with one watch each, and binds."""

    def __init__(
        self, client: ApiClient, *, events: bool, parallel: int, now_s: Callable[[], float] = time.time
    ) -> None:
        self._client, self._events, self._now_s = client, events, now_s
        self._rooms: dict[str, NodeRoom] = {}
        self._bound: dict[str, tuple[str, Room]] = {}
        self._waiting = _Queue()
        self._binding: set[str] = set()
        self._wake = asyncio.Event()
        self._limit = asyncio.Semaphore(parallel)
        self._serial = 0
        self._pods = Reflector(client, "/api/v1/pods", self._pod_told)
        self._nodes = Reflector(client, "/api/v1/nodes", self._node_told)

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pods.run())
            group.create_task(self._nodes.run())
            await self._pods.synced.wait()
            await self._nodes.synced.wait()
            while True:
                await self._wake.wait()
                self._wake.clear()
                self._pass(group)

    def _node_told(self, kind: str, node: Json) -> None:
        name = text(node, "metadata", "name")
        if kind == "DELETED":
            self._rooms.pop(name, None)
            return
        room = room_of(node)
        for where, requests in self._bound.values():
            if where == name:
                room.take(requests)
        self._rooms[name] = room
        self._wake.set()

    def _pod_told(self, kind: str, pod: Json) -> None:
        uid, node = text(pod, "metadata", "uid"), text(pod, "spec", "nodeName")
        ended = kind == "DELETED" or text(pod, "status", "phase") in _TERMINAL
        if ended:
            self._waiting.pop(uid)
            self._release(uid)
        elif node:
            self._waiting.pop(uid)
            if uid not in self._bound:
                self._assume(uid, node, requests_of(pod))
        elif not self._is_ours(pod):
            self._waiting.pop(uid)
        elif uid not in self._binding:
            known = self._waiting.get(uid)
            if known is None:
                self._waiting.put(uid, _Waiting(pod, _likeness(pod)))
                self._wake.set()
            else:
                known.pod = pod

    def _is_ours(self, pod: Json) -> bool:
        spec = section(pod, "spec")
        deleted = text(pod, "metadata", "deletionTimestamp")
        return not deleted and not spec.get("schedulingGates") and text(spec, "schedulerName") in {"", _DEFAULT}

    def _assume(self, uid: str, node: str, requests: Room) -> None:
        self._bound[uid] = (node, requests)
        if node in self._rooms:
            self._rooms[node].take(requests)

    def _release(self, uid: str) -> None:
        bound = self._bound.pop(uid, None)
        if bound is not None:
            if bound[0] in self._rooms:
                self._rooms[bound[0]].take(bound[1], -1)
            self._wake.set()

    def _pass(self, group: asyncio.TaskGroup) -> None:
        """Try the waiting pods, group by group, until one of a group finds no node."""
        for alike in self._waiting.groups():
            why = ""
            for uid, waiting in alike:
                node = ""
                if not why:
                    node, why = place(waiting.pod, self._rooms.values())
                if node:
                    self._waiting.pop(uid)
                    self._binding.add(uid)
                    self._assume(uid, node, requests_of(waiting.pod))
                    group.create_task(self._bind(uid, waiting, node))
                elif why != waiting.told:
                    waiting.told = why
                    group.create_task(self._refuse(waiting.pod, why))

    async def _bind(self, uid: str, waiting: _Waiting, node: str) -> None:
        pod = waiting.pod
        metadata: Json = {"name": text(pod, "metadata", "name"), "uid": uid}
        target: Json = {"kind": "Node", "apiVersion": "v1", "name": node}
        body: Json = {"kind": "Binding", "apiVersion": "v1", "metadata": metadata, "target": target}
        where = f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"
        async with self._limit:
            try:
                await self._client.call("POST", f"{_path(pod)}/binding", body)
            except ApiError as error:
                await self._not_bound(uid, waiting, error.code)
                return
            finally:
                self._binding.discard(uid)
        await self._record(pod, Record("Normal", "Scheduled", f"Successfully assigned {where} to {node}"))

    async def _not_bound(self, uid: str, waiting: _Waiting, code: int) -> None:
        """The server refused: a pod that is gone is left alone, any other waits again unless it is bound after all."""
        self._release(uid)
        if code == _NOT_FOUND:
            return
        await asyncio.sleep(_RETRY_S)
        if uid not in self._bound:
            self._waiting.put(uid, waiting)
            self._wake.set()

    async def _refuse(self, pod: Json, why: str) -> None:
        condition: Json = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": why,
            "observedGeneration": number(pod, "metadata", "generation"),
            "lastProbeTime": None,
        }
        uid: Json = {"uid": text(pod, "metadata", "uid")}
        async with self._limit:
            await self._record(pod, Record("Warning", "FailedScheduling", why))
            try:
                await self._client.patch(
                    f"{_path(pod)}/status", {"metadata": uid, "status": {"conditions": [condition]}}
                )
            except ApiError:
                return

    async def _record(self, pod: Json, record: Record) -> None:
        if not self._events:
            return
        self._serial += 1
        event = scheduler_event(about(pod), record, self._now_s(), self._serial)
        try:
            await self._client.call("POST", f"/api/v1/namespaces/{text(pod, 'metadata', 'namespace')}/events", event)
        except ApiError:
            return


def _path(pod: Json) -> str:
    return f"/api/v1/namespaces/{text(pod, 'metadata', 'namespace')}/pods/{text(pod, 'metadata', 'name')}"


def _likeness(pod: Json) -> bytes:
    spec = section(pod, "spec")
    amounts: Json = {name: str(amount) for name, amount in sorted(requests_of(pod).items())}
    return encode([amounts, spec.get("nodeSelector"), spec.get("affinity"), spec.get("tolerations")])

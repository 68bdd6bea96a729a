"""Drives pods away from nodes: NoExecute taints, and nodes that are gone. A controller with one watch per resource."""

import asyncio
import time
from collections.abc import Callable

from refloat_fakekube.core.control.lifecycle import NODE_GONE, ended, patience_s
from refloat_fakekube.core.objects import Json, number, text
from refloat_fakekube.core.play import words
from refloat_fakekube.core.play.effects import Record, disruption_target
from refloat_fakekube.core.play.events import about, kubelet_event
from refloat_fakekube.kubelet.client import ApiClient, ApiError
from refloat_fakekube.kubelet.reflector import Reflector

_CONTROLLER = "taint-eviction-controller"


class Evictions:
    """Follows pods and nodes, and ends pods whose node no longer bears them.

    `now_s` gives seconds since 1970; a simulation gives its own.
    """

    def __init__(self, client: ApiClient, now_s: Callable[[], float] = time.time) -> None:
        self._client, self._now_s = client, now_s
        self._nodes: dict[str, Json] = {}
        self._pods: dict[str, Json] = {}
        self._planned: dict[str, asyncio.TimerHandle] = {}
        self._group: asyncio.TaskGroup | None = None
        self._pod_watch = Reflector(client, "/api/v1/pods", self._pod_told, {"fieldSelector": "spec.nodeName!="})
        self._node_watch = Reflector(client, "/api/v1/nodes", self._node_told)

    async def run(self) -> None:
        """Control until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                group.create_task(self._node_watch.run())
                await self._node_watch.synced.wait()
                group.create_task(self._pod_watch.run())
        finally:
            for timer in self._planned.values():
                timer.cancel()

    def _node_told(self, kind: str, node: Json) -> None:
        name = text(node, "metadata", "name")
        if kind == "DELETED":
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = node
        for pod in [*self._pods.values()]:
            if text(pod, "spec", "nodeName") == name:
                self._judge(pod, gone=kind == "DELETED")

    def _pod_told(self, kind: str, pod: Json) -> None:
        uid = text(pod, "metadata", "uid")
        if kind == "DELETED" or ended(pod):
            self._pods.pop(uid, None)
            self._forget(uid)
            return
        self._pods[uid] = pod
        self._judge(pod, gone=False)

    def _forget(self, uid: str) -> None:
        timer = self._planned.pop(uid, None)
        if timer is not None:
            timer.cancel()

    def _judge(self, pod: Json, *, gone: bool) -> None:
        uid = text(pod, "metadata", "uid")
        if gone:
            self._forget(uid)
            self._plan(uid, 0.0, NODE_GONE)
            return
        node = self._nodes.get(text(pod, "spec", "nodeName"))
        wait_s = None if node is None else patience_s(pod, node)
        if wait_s is None:
            self._forget(uid)
        elif uid not in self._planned and not text(pod, "metadata", "deletionTimestamp"):
            self._plan(uid, wait_s, words.TAINT_EVICTION)

    def _plan(self, uid: str, wait_s: float, why: tuple[str, str]) -> None:
        self._planned[uid] = asyncio.get_running_loop().call_later(wait_s, self._begin, uid, why)

    def _begin(self, uid: str, why: tuple[str, str]) -> None:
        pod = self._pods.get(uid)
        if pod is not None and self._group is not None:
            self._group.create_task(self._end(pod, why))

    async def _end(self, pod: Json, why: tuple[str, str]) -> None:
        namespace, name, uid = (text(pod, "metadata", key) for key in ("namespace", "name", "uid"))
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        condition = disruption_target(*why, number(pod, "metadata", "generation") or 1, self._now_s())
        status: Json = {"conditions": [condition]}
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        if why == NODE_GONE:
            status["phase"] = "Failed"
            options["gracePeriodSeconds"] = 0
        try:
            await self._client.patch(f"{path}/status", {"metadata": {"uid": uid}, "status": status})
            await self._client.call("DELETE", path, options)
            if why != NODE_GONE:
                record = Record("Normal", "TaintManagerEviction", f"Marking for deletion Pod {namespace}/{name}")
                involved = {key: value for key, value in about(pod).items() if key not in {"uid", "resourceVersion"}}
                event = kubelet_event(involved, record, _CONTROLLER, "", self._now_s())
                await self._client.call("POST", f"/api/v1/namespaces/{namespace}/events", event)
        except ApiError:
            self._planned.pop(uid, None)

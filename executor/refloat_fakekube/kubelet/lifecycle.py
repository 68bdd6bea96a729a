"""Watches over nodes and namespaces: marks nodes whose kubelets fall silent, empties namespaces being deleted."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing

from refloat_fakekube.core.control.lifecycle import (
    NODE_NOT_READY,
    UNREACHABLE,
    ended,
    found_node_taints,
    lost_node_condition,
    lost_node_taints,
)
from refloat_fakekube.core.objects import Json, JsonValue, objects, section, text
from refloat_fakekube.core.play.effects import Record
from refloat_fakekube.core.play.events import about, kubelet_event
from refloat_fakekube.kubelet.client import ApiClient, ApiError
from refloat_fakekube.kubelet.reflector import Reflector

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_CONTENT = ("api/v1/namespaces/{}/pods", "api/v1/namespaces/{}/configmaps", "api/v1/namespaces/{}/events")
_LEASE_CONTENT = "apis/coordination.k8s.io/v1/namespaces/{}/leases"


class Lifecycle:
    """Follows node leases and namespaces with one watch each. A node is lost `grace_s` after its last renewal.

    `now_s` gives seconds since 1970; a simulation gives its own.
    """

    def __init__(self, client: ApiClient, grace_s: float, now_s: Callable[[], float] = time.time) -> None:
        self._client, self._grace_s, self._now_s = client, grace_s, now_s
        self._alarms: dict[str, asyncio.TimerHandle] = {}
        self._lost: set[str] = set()
        self._emptying: set[str] = set()
        self._group: asyncio.TaskGroup | None = None
        self._leases = Reflector(client, _LEASES, self._lease_told)
        self._namespaces = Reflector(client, "/api/v1/namespaces", self._namespace_told)

    async def run(self) -> None:
        """Control until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                group.create_task(self._leases.run())
                group.create_task(self._namespaces.run())
        finally:
            for alarm in self._alarms.values():
                alarm.cancel()

    def _lease_told(self, kind: str, lease: Json) -> None:
        name = text(lease, "metadata", "name")
        alarm = self._alarms.pop(name, None)
        if alarm is not None:
            alarm.cancel()
        if kind == "DELETED":
            return
        self._alarms[name] = asyncio.get_running_loop().call_later(self._grace_s, self._lose, name)
        if name in self._lost and self._group is not None:
            self._lost.discard(name)
            self._group.create_task(self._mark(name, lost=False))

    def _lose(self, name: str) -> None:
        if self._group is not None:
            self._lost.add(name)
            self._group.create_task(self._mark(name, lost=True))

    async def _mark(self, name: str, *, lost: bool) -> None:
        path, now_s = f"/api/v1/nodes/{name}", self._now_s()
        try:
            node = await self._client.call("GET", path)
            if lost:
                conditions: list[JsonValue] = [lost_node_condition(now_s)]
                await self._client.patch(f"{path}/status", {"status": {"conditions": conditions}})
            taints = objects(node, "spec", "taints")
            wanted = lost_node_taints(taints, now_s) if lost else found_node_taints(taints)
            if lost or any(one.get("key") == UNREACHABLE for one in taints):
                await self._client.patch(path, {"spec": {"taints": [*wanted]}})
            if lost:
                await self._mark_pods(name, now_s)
        except ApiError:
            return

    async def _mark_pods(self, node: str, now_s: float) -> None:
        """The pods of a lost node are not ready; nothing else about them is known."""
        query = {"fieldSelector": f"spec.nodeName={node}"}
        listed = await self._client.call("GET", "/api/v1/pods", query=query)
        for serial, pod in enumerate(objects(listed, "items")):
            ready = [one for one in objects(pod, "status", "conditions") if one.get("type") == "Ready"]
            if ended(pod) or not ready or ready[0].get("status") != "True":
                continue
            namespace = f"/api/v1/namespaces/{text(pod, 'metadata', 'namespace')}"
            condition: Json = {"type": "Ready", "status": "False"}
            path = f"{namespace}/pods/{text(pod, 'metadata', 'name')}/status"
            await self._client.patch(path, {"status": {"conditions": [condition]}})
            record = Record("Warning", *NODE_NOT_READY)
            event = kubelet_event(about(pod), record, "node-controller", "", now_s, serial)
            await self._client.call("POST", f"{namespace}/events", event)

    def _namespace_told(self, kind: str, namespace: Json) -> None:
        name = text(namespace, "metadata", "name")
        leaving = kind != "DELETED" and text(namespace, "status", "phase") == "Terminating"
        if leaving and name not in self._emptying and self._group is not None:
            self._emptying.add(name)
            self._group.create_task(self._empty(name, namespace))

    async def _empty(self, name: str, namespace: Json) -> None:
        """Delete what is in the namespace, wait until it is gone, then let the namespace go."""
        places = [f"/{place.format(name)}" for place in (*_CONTENT, _LEASE_CONTENT)]
        try:
            for place in places:
                await self._client.call("DELETE", place)
            for place in places:
                await self._drained(place)
            body: Json = {**namespace, "spec": {**section(namespace, "spec"), "finalizers": []}}
            body["metadata"] = {"name": name}
            await self._client.call("PUT", f"/api/v1/namespaces/{name}/finalize", body)
        except (ApiError, StopAsyncIteration):
            return
        finally:
            self._emptying.discard(name)

    async def _drained(self, place: str) -> None:
        """Return when nothing is left in a collection."""
        listed = await self._client.call("GET", place)
        left = {text(item, "metadata", "uid") for item in objects(listed, "items")}
        query = {"watch": "true", "resourceVersion": text(listed, "metadata", "resourceVersion")}
        async with aclosing(self._client.lines(place, query)) as lines:
            while left:
                line = await anext(lines)
                if text(line, "type") == "DELETED":
                    left.discard(text(line, "object", "metadata", "uid"))

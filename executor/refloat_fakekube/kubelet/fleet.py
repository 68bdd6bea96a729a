"""The kubelets of many nodes in one process: one watch of all bound pods, one worker for each that has not ended."""

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Callable

from refloat_fakekube.core.objects import Json, text
from refloat_fakekube.core.play.player import PodPlay
from refloat_fakekube.core.play.script import BadScriptError, Facts, Outcome, choose
from refloat_fakekube.kubelet.client import ApiClient, ApiError
from refloat_fakekube.kubelet.nodes import register, renew_lease
from refloat_fakekube.kubelet.reflector import Reflector
from refloat_fakekube.kubelet.settings import KubeletSettings, NodeSpec
from refloat_fakekube.kubelet.worker import PodWorker, Spawn

_TERMINAL = ("Failed", "Succeeded")
_NAMES_MAX = 200_000
_REGISTER_PAUSE_S = 0.2


class Fleet:
    """Kubelets on their nodes. A dead node's kubelet writes nothing until the node is revived.

    `now_s` gives seconds since 1970; a simulation gives its own.
    """

    def __init__(
        self,
        client: ApiClient,
        nodes: list[NodeSpec],
        settings: KubeletSettings,
        rng: random.Random,
        *,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._settings, self._rng, self._now_s = client, settings, rng, now_s
        self.nodes = {node.name: node for node in nodes}
        self.dead: set[str] = set()
        self._spawn: Spawn = asyncio.create_task
        self._workers: dict[str, PodWorker] = {}
        self._attempts: OrderedDict[str, int] = OrderedDict()
        self._limit = asyncio.Semaphore(settings.parallel)
        self._reflector = Reflector(client, "/api/v1/pods", self._told, {"fieldSelector": "spec.nodeName!="})

    async def start(self) -> None:
        """Register every node."""
        for node in self.nodes.values():
            await self.add_node(node)

    async def add_node(self, node: NodeSpec) -> None:
        """Register one node, now or later."""
        self.nodes[node.name] = node
        while True:
            try:
                await register(self._client, node, self._now_s())
                await renew_lease(self._client, node.name, self._now_s())
            except ApiError:
                await asyncio.sleep(_REGISTER_PAUSE_S)
            else:
                return

    async def run(self) -> None:
        """Play pods until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._spawn = group.create_task
                group.create_task(self._reflector.run())
                group.create_task(self._renew())
        finally:
            for worker in self._workers.values():
                worker.stop()

    async def synced(self) -> None:
        """Return when the kubelets know all pods that are there."""
        await self._reflector.synced.wait()

    def kill_node(self, name: str) -> None:
        """The node dies: its kubelet falls silent, its pods stay as they are."""
        self.dead.add(name)

    def revive_node(self, name: str) -> None:
        """The node is back, and its kubelet goes on."""
        self.dead.discard(name)
        for worker in [*self._workers.values()]:
            if worker.node == name:
                worker.wake()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_interval_s)
            for name in [*self.nodes]:
                if name not in self.dead:
                    try:
                        await renew_lease(self._client, name, self._now_s())
                    except ApiError:
                        continue

    def _told(self, kind: str, pod: Json) -> None:
        uid = text(pod, "metadata", "uid")
        worker = self._workers.get(uid)
        if kind == "DELETED":
            if worker is not None:
                del self._workers[uid]
                worker.stop()
            return
        if worker is None:
            if text(pod, "status", "phase") in _TERMINAL or text(pod, "spec", "nodeName") not in self.nodes:
                return
            worker = self._begin(pod)
            self._workers[uid] = worker
            worker.wake()
        worker.seen(pod)

    def _begin(self, pod: Json) -> PodWorker:
        node = text(pod, "spec", "nodeName")
        play = PodPlay(pod, self._outcome(pod, node), self._settings.latencies, self._now_s())
        worker = PodWorker(self._client, pod, play, now_s=self._now_s, spawn=self._spawn)
        worker.record_events = self._settings.events
        worker.limit = self._limit
        worker.alive = lambda: node not in self.dead
        worker.lose_node = lambda: self.kill_node(node)
        return worker

    def _outcome(self, pod: Json, node: str) -> Outcome:
        labels = {"kubernetes.io/hostname": node, **self.nodes[node].labels}
        facts = Facts(pod, node, labels, self._attempt(pod), self._rng.random())
        try:
            return choose(facts)
        except BadScriptError as error:
            return Outcome(kind="reject", reason="BadScript", message=str(error))

    def _attempt(self, pod: Json) -> int:
        key = f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"
        count = self._attempts.pop(key, 0) + 1
        self._attempts[key] = count
        if len(self._attempts) > _NAMES_MAX:
            self._attempts.popitem(last=False)
        return count

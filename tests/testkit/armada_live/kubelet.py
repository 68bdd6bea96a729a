"""Gives each pod that our executor makes the recorded history of its job's pod of the same number.

What came about by itself (the kubelet, people, evictions) happens after the recorded time. What Armada's executor did
is left to ours: a deletion is waited for, and the history then goes on from there. A pod beyond the recorded ones
lives as the last of them, as long as that one was left alone; if ours deletes it, its containers are killed.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

from refloat_common.core.ids import JobId
from refloat_common.core.taxonomy import LABEL_JOB_ID
from refloat_fakekube.core.objects import Json, JsonValue, clone, objects, text, time_text
from refloat_fakekube.kubelet.client import ApiClient, ApiError
from refloat_fakekube.kubelet.nodes import register
from refloat_fakekube.kubelet.settings import NodeSpec
from testkit.armada_live.recordings import (
    Bound,
    Deed,
    DeletedByExecutor,
    DeletedByOther,
    Ended,
    Finalizers,
    PodHistory,
    Status,
    Step,
    Told,
)
from testkit.world.apiserver import SimApiServer
from testkit.world.clients import kubelet_client

NODE = NodeSpec("node-1", allocatable={"cpu": "2", "memory": "24Gi", "ephemeral-storage": "100Gi", "pods": "110"})
"""The node of the recordings."""
NAMESPACE = "anchor"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
WATCH_S = 100_000
KILL_S = 0.5
"""How long an unrecorded pod takes to end once it is deleted."""

_GONE = frozenset({404, 409})
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\Z")


@dataclass(slots=True)
class _Seen:
    """A pod as it was last seen."""

    obj: Json
    gone: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def deleted(self) -> bool:
        return self.gone or bool(text(self.obj, "metadata", "deletionTimestamp"))


class RecordedKubelet:
    """One node on which recorded pods live again. `jobs`: our jobs' ids, in the recorded order."""

    def __init__(self, server: SimApiServer, pods: tuple[tuple[PodHistory, ...], ...], start_s: float) -> None:
        self.jobs: list[JobId] = []
        self.made: dict[JobId, list[Json]] = {}
        """The pods of each job as they were created, in order."""
        self._server = server
        self._pods = pods
        self._start_s = start_s
        self._client: ApiClient = kubelet_client(server)
        self._seen: dict[str, _Seen] = {}

    async def run(self) -> None:
        """Register the node, then follow every pod until the process ends."""
        await self._client.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        await register(self._client, NODE, self._server.now_s())
        query = {"watch": "true", "timeoutSeconds": str(WATCH_S)}
        async with asyncio.TaskGroup() as lives:
            async for line in self._client.lines(PODS, query):
                self._tell(text(line, "type"), cast("Json", line["object"]), lives)

    def _tell(self, kind: str, obj: Json, lives: asyncio.TaskGroup) -> None:
        uid = text(obj, "metadata", "uid")
        seen = self._seen.get(uid)
        if seen is None:
            seen = self._seen[uid] = _Seen(obj)
            lives.create_task(self._live(uid, seen))
        seen.obj, seen.gone = obj, kind == "DELETED"
        seen.changed.set()

    async def _live(self, uid: str, seen: _Seen) -> None:
        job_id = JobId(text(seen.obj, "metadata", "labels", LABEL_JOB_ID))
        histories = self._pods[self.jobs.index(job_id)]
        made = self.made.setdefault(job_id, [])
        number = len(made)
        made.append(seen.obj)
        known = number < len(histories)
        life = _Life(self._client, self._server, uid, seen, self._start_s)
        try:
            await (life.live(histories[number]) if known else life.live_on(histories[-1]))
        except ApiError as error:
            if error.code not in _GONE:
                raise


class _Life:
    """One pod's life."""

    def __init__(self, client: ApiClient, server: SimApiServer, uid: str, seen: _Seen, start_s: float) -> None:
        self._client = client
        self._server = server
        self._uid = uid
        self._seen = seen
        self._name = text(seen.obj, "metadata", "name")
        self._start_s = start_s
        self._late_s = 0.0
        """Virtual seconds since 1970 less recorded ones, for what happens now."""
        self._times: dict[str, str] = {}

    async def live(self, history: PodHistory) -> None:
        """Everything that was recorded."""
        self._anchor(history.born_t)
        steps = list(history.steps)
        while steps:
            step = steps.pop(0)
            await self._until(step, steps)

    async def live_on(self, history: PodHistory) -> None:
        """What was recorded before anybody touched the pod; then wait to be deleted."""
        self._anchor(history.born_t)
        for step in history.steps:
            if isinstance(step.deed, DeletedByExecutor | DeletedByOther):
                break
            await self._sleep_to(step.t)
            await self._do(step.deed)
        await self._deletion()
        await asyncio.sleep(KILL_S)
        await self._do(Status(_killed(self._seen.obj, self._server.now_s())))
        await self._do(Ended())

    async def _until(self, step: Step, rest: list[Step]) -> None:
        """Carry out the next step in its time; if ours deletes the pod before, go on behind the recorded deletion."""
        if isinstance(step.deed, DeletedByExecutor):
            await self._deletion()
            self._anchor(step.t)
            return
        ours = next((index for index, later in enumerate(rest) if isinstance(later.deed, DeletedByExecutor)), None)
        if ours is not None and await self._sleep_to(step.t):
            self._anchor(rest[ours].t)
            del rest[: ours + 1]
            return
        if ours is None:
            await self._sleep_to(step.t, unless_deleted=False)
        await self._do(step.deed)

    async def _sleep_to(self, t: float, *, unless_deleted: bool = True) -> bool:
        """Wait for a recorded moment; True if the pod's deletion came first."""
        delay_s = self._start_s + t + self._late_s - self._server.now_s()
        if not unless_deleted:
            await asyncio.sleep(max(0.0, delay_s))
            return False
        try:
            await asyncio.wait_for(self._deletion(), max(0.0, delay_s))
        except TimeoutError:
            return False
        return True

    async def _deletion(self) -> None:
        """Wait until somebody has asked for the pod's deletion, or it is gone."""
        while not self._seen.deleted:
            self._seen.changed.clear()
            await self._seen.changed.wait()

    def _anchor(self, t: float) -> None:
        """This moment is the recorded one."""
        self._late_s = self._server.now_s() - self._start_s - t

    async def _do(self, deed: Deed) -> None:
        path = f"{PODS}/{self._name}"
        match deed:
            case Bound(node):
                body: Json = {"metadata": {"name": self._name}, "target": {"name": node}}
                await self._client.call("POST", f"{path}/binding", body)
            case Status(status):
                current = await self._client.call("GET", path)
                await self._client.call("PUT", f"{path}/status", {**current, "status": self._now(status)})
            case DeletedByOther(grace_s):
                await self._delete(grace_s)
            case Ended():
                await self._delete(0)
            case Finalizers(names):
                await self._client.patch(path, {"metadata": {"finalizers": list(names)}})
            case Told(event):
                await self._tell(event)
            case DeletedByExecutor():
                pass

    async def _delete(self, grace_s: int) -> None:
        body: Json = {"gracePeriodSeconds": grace_s, "preconditions": {"uid": self._uid}}
        await self._client.call("DELETE", f"{PODS}/{self._name}", body)

    async def _tell(self, recorded: Json) -> None:
        """Write a Kubernetes event about this pod."""
        event = cast("Json", self._now(clone(recorded)))
        name = f"{self._name}.{text(recorded, 'metadata', 'name').rpartition('.')[2]}"
        event["metadata"] = {"name": name, "namespace": NAMESPACE}
        involved: Json = {**cast("Json", event["involvedObject"]), "name": self._name, "uid": self._uid}
        event["involvedObject"] = involved
        try:
            await self._client.call("PUT", f"{EVENTS}/{name}", event)
        except ApiError as error:
            if error.code not in _GONE:
                raise
            await self._client.call("POST", EVENTS, event)

    def _now(self, value: JsonValue) -> JsonValue:
        """The recorded value with every time in it moved to ours; a time that comes again stays where it was put."""
        if isinstance(value, dict):
            return {key: self._now(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._now(inner) for inner in value]
        if not isinstance(value, str) or not _TIME.match(value):
            return value
        if value not in self._times:
            moved = datetime.fromisoformat(value) + timedelta(seconds=self._late_s)
            form = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in value else "%Y-%m-%dT%H:%M:%SZ"
            self._times[value] = moved.strftime(form)
        return self._times[value]


def _killed(pod: Json, now_s: float) -> Json:
    """The status of a pod whose containers were killed."""
    status = clone(cast("Json", pod["status"]))
    status["phase"] = "Failed"
    for container in objects(status, "containerStatuses"):
        end: Mapping[str, JsonValue] = {"exitCode": 137, "reason": "Error", "finishedAt": time_text(now_s)}
        container["state"] = {"terminated": dict(end)}
    return status

"""Brings about the situations of Armada's table of public sequences, in one way or another, and gives the events.

The product's executor, plugin and host live on a simulated cluster whose kubelets follow the pods' scripts. Nothing
here says what the events should be.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
from google.protobuf.json_format import MessageToDict

from refloat_common.core.ids import JobId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.settings import merge_trees, parse_settings
from refloat_executor.settings import ExecutorSettings
from refloat_fakekube.core.play.script import ANNOTATION
from refloat_fakekube.core.resources import NAMESPACES
from refloat_fakekube.core.store.requests import Create, Target
from refloat_fakekube.kubelet.settings import NodeSpec
from refloat_fakekube.server.clock import SeededIds
from refloat_host.api.messages.events import event_message
from refloat_host.core.orders import Order
from refloat_host.core.queues import Queue
from refloat_host.core.selection import Selection
from refloat_host.core.submission import Submission
from refloat_host.daemon.host import HostDaemon
from refloat_host.settings import HostSettings
from testkit.armada_live.stage import LINK, PublicEvents
from testkit.virtual.process import SimProcess
from testkit.virtual.run import World, run_virtual
from testkit.world.cluster import start_cluster
from testkit.world.disk import SimDisk
from testkit.world.executor import SimMachine, start_executor
from testkit.world.network import SimNetwork
from testkit.world.scheduler import SimHost

QUEUE, JOB_SET, CLUSTER = "q", "s", "cluster-1"
READY_S = 10.0
LEASE: Mapping[str, Any] = {
    "executorTimeout": "60s",
    "scheduling": {"executorTimeout": "30s"},
    "leases": {"startWindow": "15s"},
}
"""Leases that expire soon."""
EXECUTOR: Mapping[str, Any] = {
    "application": {
        "clusterId": CLUSTER,
        "errorCategories": {
            "enabled": True,
            "categories": [
                {"name": "app", "action": "Delete", "rules": [{"onExitCodes": {"operator": "NotIn", "values": [3]}}]}
            ],
        },
    },
    # A namespace that does not exist returns the lease instead of failing the run.
    "kubernetes": {"fatalPodSubmissionErrors": []},
    "link": LINK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How the engine is set up, and what the job says. `policy` is attached to the job's queue."""

    enabled: bool = False
    policy: JsonObject | None = None
    default_policy: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    jobs: int = 1

    def tree(self) -> Mapping[str, Any]:
        """The host's settings."""
        retry = {"enabled": self.enabled, "defaultPolicyName": self.default_policy}
        return merge_trees([{"link": {"insecure": True}, "scheduling": {"retryPolicy": retry}}, LEASE])


class Situation:
    """A running system with its jobs, for those who bring something about."""

    def __init__(self, world: World, way: Way) -> None:
        self.world = world
        self.way = way
        network = SimNetwork(world)
        self.host = SimHost(world, network, parse_settings(HostSettings, way.tree()))
        cluster = start_cluster(world, CLUSTER, [NodeSpec("node-1")])
        self.server = cluster.server
        self.machine = SimMachine(world, cluster.server, network, SimDisk(), self.host.name)
        self.executor: SimProcess | None = None
        self.jobs: list[JobId] = []

    @property
    def daemon(self) -> HostDaemon:
        """The host."""
        assert self.host.daemon is not None
        return self.host.daemon

    async def begin(self) -> None:
        """Start everything; the queue and its policy are there."""
        self.host.start()
        self.start_executor()
        await anyio.sleep(READY_S / 2)
        policy = self.way.policy
        if policy is not None:
            await self.daemon.policies.create(policy)
        attached = (str(policy["name"]),) if policy and not self.way.default_policy else ()
        await self.daemon.queues.create(Queue(name=QUEUE, retry_policies=attached))
        await anyio.sleep(READY_S)

    def start_executor(self) -> None:
        """Start the executor, or start it again."""
        self.executor = start_executor(self.machine, parse_settings(ExecutorSettings, EXECUTOR))

    async def submit(self, script: str, namespace: str = "default") -> None:
        """Submit the way's jobs."""
        annotations = {**self.way.annotations, ANNOTATION: script}
        amounts: JsonObject = {"cpu": "1", "memory": "64Mi"}
        container: JsonObject = {"name": "main", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
        spec: JsonObject = {"containers": [container], "terminationGracePeriodSeconds": 1}
        job = Submission(pod_spec=spec, namespace=namespace, annotations=annotations)
        submitted = await self.daemon.jobs.submit(QUEUE, JOB_SET, [job] * self.way.jobs)
        self.jobs = [each.job_id for each in submitted]

    async def events(self) -> PublicEvents:
        """What was told of the first job so far."""
        told: list[tuple[str, JsonObject]] = []
        for message in await self.daemon.events.read(QUEUE, JOB_SET):
            if message.event.job_id == self.jobs[0]:
                told.extend(MessageToDict(event_message(message.event)).items())
        return told

    async def told(self, name: str) -> None:
        """Wait for the first event of a name; the next thing can happen within a millisecond of it."""
        with anyio.fail_after(300):
            while name not in [event for event, _ in await self.events()]:  # noqa: ASYNC110  a store has no bell
                await asyncio.sleep(0.001)


Story: TypeAlias = Callable[[Situation], Awaitable[None]]


async def failure(situation: Situation) -> None:
    """The job's process exits with 1, as often as it is run."""
    await situation.submit('{"outcome": "exit", "code": 1, "afterMs": 500}')
    await anyio.sleep(60)


async def lost_executor(situation: Situation) -> None:
    """The executor dies under a running job, and comes back when its lease has long expired."""
    await situation.submit("run")
    await situation.told("running")
    assert situation.executor is not None
    situation.world.loop.kill(situation.executor)
    await anyio.sleep(150)
    situation.start_executor()
    await anyio.sleep(60)


async def returned_once(situation: Situation) -> None:
    """The pod can't be created at first, because its namespace is created a moment too late."""
    await situation.submit('{"outcome": "succeed", "afterMs": 500}', namespace="late")
    await situation.told("leaseReturned")
    server = situation.server
    ids = SeededIds(situation.world.streams.of("onlooker"))
    created = server.store.apply(Create(Target(NAMESPACES), {"metadata": {"name": "late"}}), server.now_s(), ids)
    server.hub.publish(created.changes, server.now_s())
    await anyio.sleep(60)


async def returned_always(situation: Situation) -> None:
    """The pod can never be created."""
    await situation.submit("succeed", namespace="never")
    await anyio.sleep(120)


async def preemption(situation: Situation) -> None:
    """Somebody preempts the running job."""
    await situation.submit("run")
    await situation.told("running")
    selection = Selection(situation.jobs[:1], QUEUE, JOB_SET)
    await situation.daemon.jobs.preempt(selection, Order("anna", "asked"))
    await anyio.sleep(60)


def brought_about(story: Story, way: Way) -> PublicEvents:
    """The events of the first job when the story is over."""

    async def scenario(world: World) -> PublicEvents:
        situation = Situation(world, way)
        await situation.begin()
        await story(situation)
        events = await situation.events()
        situation.machine.disk.close()
        situation.host.disk.close()
        return events

    return run_virtual(scenario)

"""One failure lived through by the whole product: fail, delete, crash, report, crash, retry, success.

The executor is killed after the pod's removal was confirmed and before that is journaled; the host is killed after the
report's commit and before its acknowledgement. Both come back two seconds later. `python -m
testkit.stories.one_failure SEED NOISE` prints the hash of the trace.
"""

import json
import sys
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass

import anyio
from sqlalchemy import Connection, select

from refloat_common.adapters.config_files import load_settings
from refloat_common.core.categories import RulePackFile
from refloat_common.core.ids import JobId, pod_name
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.settings import merge_trees, parse_settings
from refloat_executor.settings import ExecutorSettings
from refloat_fakekube.core.objects import Json, decode
from refloat_fakekube.core.resources import PODS
from refloat_fakekube.core.store.answers import Found
from refloat_fakekube.core.store.requests import Get, Target
from refloat_fakekube.kubelet.settings import NodeSpec
from refloat_fakekube.server.clock import SeededIds
from refloat_host.adapters.store.queries.stream import Message
from refloat_host.adapters.store.tables import verdicts
from refloat_host.core.queues import Queue
from refloat_host.core.submission import Submission
from refloat_host.daemon.host import HostDaemon
from refloat_host.settings import HostSettings
from refloat_scheduler.core.model import Job
from testkit.style.tree import ROOT
from testkit.virtual.process import SimProcess
from testkit.virtual.run import World, run_virtual
from testkit.virtual.selfcheck import make_noise
from testkit.virtual.trace import Trace
from testkit.world.cluster import start_cluster
from testkit.world.disk import SimDisk
from testkit.world.executor import SimMachine, start_executor
from testkit.world.network import SimNetwork
from testkit.world.scheduler import SimHost

QUEUE, JOB_SET, CLUSTER = "training", "story", "E1"
DOWN_FOR_S = 2.0
STORY_S = 120.0
LIMIT_S = 600.0
SCRIPT = {
    "cases": [
        {"when": {"memoryBelow": "100Mi"}, "outcome": "oom", "afterMs": 300},
        {"outcome": "succeed", "afterMs": 300},
    ]
}
POLICY: JsonObject = {
    "name": "careful",
    "retryLimit": 2,
    "defaultAction": "Fail",
    "rules": [{"action": "Retry", "onCategory": "oom", "mutate": {"resources": {"memory": {"factor": 2}}}}],
}
EXECUTOR = {
    "application": {"clusterId": CLUSTER},
    "link": {"control": "tcp://127.0.0.1:1", "reports": "tcp://127.0.0.1:2", "insecure": True},
}
HOST = {"link": {"insecure": True}, "scheduling": {"retryPolicy": {"enabled": True}}}
CRASHES = (("executor", "executor.gone_before_report"), ("host", "host.commit_before_ack"))
"""Who is killed where; each once, in this order."""


@dataclass(slots=True)
class Told:
    """What is left when the story is over."""

    trace: Trace
    messages: list[Message]
    job: Job
    pod: Json
    """The job's pod as the cluster has it at the end."""
    verdicts: list[JsonObject]
    crashes: list[tuple[str, float]]


def executor_settings() -> ExecutorSettings:
    """An executor with the shipped rules."""
    rules = load_settings(RulePackFile, [ROOT / "configs/categories/default.yaml"], environment={})
    settings = parse_settings(ExecutorSettings, merge_trees([EXECUTOR]))
    application = settings.application.model_copy(update={"error_categories": rules.application.error_categories})
    return settings.model_copy(update={"application": application})


def pod_spec() -> JsonObject:
    """A pod that asks for less memory than it needs."""
    amounts: JsonObject = {"cpu": "1", "memory": "64Mi"}
    container: JsonObject = {"name": "main", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}


class Story:
    """The actors, and who is killed where."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.crashes: list[tuple[str, float]] = []
        network = SimNetwork(world)
        cluster = start_cluster(world, CLUSTER, [NodeSpec("n1"), NodeSpec("n2")])
        self.host = SimHost(world, network, parse_settings(HostSettings, HOST))
        self.machine = SimMachine(world, cluster.server, network, SimDisk(), self.host.name)

    async def tell(self) -> Told:
        """Live through it."""
        self._run("host", self.host.start)
        self._run("executor", lambda failpoint: start_executor(self.machine, executor_settings(), failpoint))
        await anyio.sleep(1)
        job_id = await self._submit()
        # Long enough for all of it, and for whatever should not follow.
        await anyio.sleep(STORY_S)
        job = await self._look(job_id)
        messages = await self._daemon.events.read(QUEUE, JOB_SET)
        explained = await self._daemon.store.read(lambda tx: _verdicts(tx.connection))
        told = Told(self.world.trace, list(messages), job, self._pod(job_id), explained, self.crashes)
        self.machine.disk.close()
        self.host.disk.close()
        return told

    @property
    def _daemon(self) -> HostDaemon:
        assert self.host.daemon is not None
        return self.host.daemon

    async def _submit(self) -> JobId:
        daemon = self._daemon
        await daemon.policies.create(POLICY)
        await daemon.queues.create(Queue(name=QUEUE, retry_policies=(str(POLICY["name"]),)))
        # The plugin serves a new policy once it has refreshed its cache.
        await anyio.sleep(30)
        annotations = {"fakekube.refloat.dev/script": json.dumps(SCRIPT)}
        [submitted] = await daemon.jobs.submit(
            QUEUE, JOB_SET, [Submission(pod_spec=pod_spec(), annotations=annotations)]
        )
        return submitted.job_id

    def _pod(self, job_id: JobId) -> Json:
        server = self.machine.server
        ids = SeededIds(self.world.streams.of("onlooker"))
        found = server.store.apply(Get(Target(PODS, "default", pod_name(job_id))), server.now_s(), ids).answer
        assert isinstance(found, Found)
        return decode(found.data)

    async def _look(self, job_id: JobId) -> Job:
        return (await self._daemon.store.read(lambda tx: tx.jobs([job_id])))[job_id]

    def _run(self, name: str, start: Callable[[Callable[[str], None]], SimProcess]) -> None:
        """Start a process that is killed once, at its crash point, and comes back."""
        loop = self.world.loop

        def failpoint(reached: str) -> None:
            if len(self.crashes) < len(CRASHES) and (name, reached) == CRASHES[len(self.crashes)]:
                self.crashes.append((name, loop.time()))
                self.world.trace.add("crash", name=name, at=reached)
                loop.call_later(DOWN_FOR_S, start, _never, context=Context())
                loop.kill(process)

        process = start(failpoint)


def _verdicts(connection: Connection) -> list[JsonObject]:
    rows = connection.execute(select(verdicts.c.explanation).order_by(verdicts.c.decided_at_ms)).scalars()
    return [json.loads(text) for text in rows]


def _never(_reached: str) -> None:
    """A failpoint that lets everybody live."""


def tell(seed: int) -> Told:
    """The story of a seed."""

    async def scenario(world: World) -> Told:
        return await Story(world).tell()

    return run_virtual(scenario, seed=seed, limit_s=LIMIT_S)


if __name__ == "__main__":
    kept = make_noise(int(sys.argv[2]))
    sys.stdout.write(f"{tell(int(sys.argv[1])).trace.digest()}\n")

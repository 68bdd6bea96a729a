"""Clusters with their executors, the host with its plugin, and users: the product's own code on simulated ports.

A test says what it cares for; the rest is as small as can be: one cluster `E1` with two nodes, one queue `q` with one
policy `p` that retries everything three times, and rules that name failures by exit code.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import anyio

from refloat_common.core.ids import JobId, pod_name
from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_common.core.settings import merge_trees, parse_settings
from refloat_common.core.taxonomy import ANNOTATION_GANG_CARDINALITY, ANNOTATION_GANG_ID
from refloat_executor.settings import ExecutorSettings
from refloat_fakekube.core.objects import Json, decode, encode
from refloat_fakekube.kubelet.settings import DEFAULT_ALLOCATABLE, NodeSpec
from refloat_host.adapters.store.queries import inspection
from refloat_host.core.queues import Queue
from refloat_host.core.submission import Submission
from refloat_host.daemon.host import HostDaemon
from refloat_host.settings import HostSettings
from refloat_scheduler.core.events import Event, JobFailed
from refloat_scheduler.core.model import Job, JobState
from testkit.virtual.process import SimProcess
from testkit.virtual.run import World, run_virtual
from testkit.virtual.trace import Record
from testkit.world.apiserver import HttpRequest, is_good
from testkit.world.cluster import start_cluster
from testkit.world.disk import SimDisk
from testkit.world.executor import SimMachine, start_executor
from testkit.world.network import SimNetwork
from testkit.world.scheduler import SimHost

T = TypeVar("T")
Tree = Mapping[str, object]
SCRIPT = "fakekube.refloat.dev/script"
LABEL = "kubernetes.io/hostname"


def named(name: str, code: int, action: str = "Delete", subcategory: str = "") -> Mapping[str, JsonValue]:
    """A category of failures with this exit code."""
    rule: JsonObject = {"onExitCodes": {"operator": "In", "values": [code]}, "subcategory": subcategory}
    return {"name": name, "action": action, "rules": [rule]}


CATEGORIES: tuple[JsonValue, ...] = (
    {"name": "oom", "action": "Delete", "rules": [{"onConditions": ["OOMKilled"]}]},
    named("app", 1),
    named("user-error", 3, "Retain"),
    named("kept", 9, "Retain"),
    {
        "name": "gpu",
        "action": "Delete",
        "rules": [
            {"onExitCodes": {"operator": "In", "values": [21]}, "subcategory": "transient"},
            {"onExitCodes": {"operator": "In", "values": [22]}, "subcategory": "permanent"},
        ],
    },
)
ENGINE_ON: Tree = {"scheduling": {"retryPolicy": {"enabled": True}}}


def exits(code: int, times: int = 1000) -> str:
    """A pod that ends with this exit code the first so many times, and then succeeds."""
    failing: JsonObject = {"when": {"attempts": list(range(1, times + 1))}, "outcome": "exit", "code": code}
    return json.dumps({"cases": [{**failing, "afterMs": 200}, {"outcome": "succeed", "afterMs": 200}]})


def needs(memory: str) -> str:
    """A pod that is killed for its memory if its limit is lower than this."""
    short: JsonObject = {"when": {"memoryBelow": memory}, "outcome": "oom", "afterMs": 200}
    return json.dumps({"cases": [short, {"outcome": "succeed", "afterMs": 200}]})


def rule(action: str, category: str, subcategory: str = "", **mutate: JsonValue) -> JsonObject:
    """A rule of a policy; `mutate` takes `affinity` and `resources`."""
    body: dict[str, JsonValue] = {"action": action, "onCategory": category}
    if subcategory:
        body["onSubcategory"] = subcategory
    return {**body, "mutate": mutate} if mutate else body


def node(name: str, memory: str = "32Gi", label: bool = True) -> NodeSpec:  # noqa: FBT001, FBT002  it reads well
    """A node that gives so much memory; without `label` it lacks the one that retries avoid."""
    labels = {LABEL: name} if label else {}
    return NodeSpec(name, labels, {**DEFAULT_ALLOCATABLE, "memory": memory})


@dataclass(slots=True)
class System:
    """Everything that runs, and what a user can do and see."""

    world: World
    settings: HostSettings
    clusters: Mapping[str, Sequence[NodeSpec]]
    categories: Sequence[JsonValue]
    executor_tree: Tree
    host: SimHost = field(init=False)
    machines: dict[str, SimMachine] = field(default_factory=dict)
    executors: dict[str, SimProcess] = field(default_factory=dict)
    process: SimProcess = field(init=False)

    def __post_init__(self) -> None:
        network = SimNetwork(self.world)
        self.host = SimHost(self.world, network, self.settings)
        for name, nodes in self.clusters.items():
            cluster = start_cluster(self.world, name, nodes)
            self.machines[name] = SimMachine(self.world, cluster.server, network, SimDisk(), self.host.name)

    # ---- processes

    async def start(self) -> None:
        """Start everything, with the queue `q` and the policy `p`; wait until every executor may be leased to."""
        self.process = self.host.start()
        for name in self.clusters:
            self.start_executor(name)
        await self.until(lambda: self.host.daemon is not None)
        await self.policy("p")
        await self.queue("q", "p")
        await self.until(self._all_live)

    def start_executor(self, name: str) -> None:
        """Start an executor (again)."""
        self.executors[name] = start_executor(self.machines[name], self._executor_settings(name))

    def restart_host(self, tree: Tree) -> None:
        """Kill the host, and start it with other settings on the same store."""
        self.world.loop.kill(self.process)
        self.host.settings = host_settings(tree)
        self.host.daemon = None
        self.process = self.host.start()

    def kill_executor(self, name: str) -> None:
        """Kill an executor; its pods run on."""
        self.world.loop.kill(self.executors[name])

    def cut(self, name: str) -> None:
        """Cut an executor off from the scheduler, both ways."""
        for channel in ("control", "reports"):
            self.host.network.cut(f"{name}/{channel}", f"{self.host.name}/{channel}")
            self.host.network.cut(f"{self.host.name}/{channel}", f"{name}/{channel}")

    def close(self) -> None:
        """Free the disks."""
        self.host.disk.close()
        for machine in self.machines.values():
            machine.disk.close()

    def _all_live(self) -> bool:
        views = self.daemon.plugin.executors()
        return len(views) == len(self.clusters) and all(view.may_lease and view.free_slots for view in views)

    def _executor_settings(self, name: str) -> ExecutorSettings:
        base: Tree = {
            "application": {
                "clusterId": name,
                "errorCategories": {"enabled": True, "defaultCategory": "other", "categories": list(self.categories)},
            },
            "link": {"control": "tcp://127.0.0.1:1", "reports": "tcp://127.0.0.1:2", "insecure": True},
        }
        return parse_settings(ExecutorSettings, merge_trees([base, self.executor_tree]))

    # ---- users and administrators

    @property
    def daemon(self) -> HostDaemon:
        """The host's newest incarnation."""
        assert self.host.daemon is not None
        return self.host.daemon

    async def policy(self, name: str, *rules: JsonObject, limit: int = 3, default: str = "Retry") -> None:
        """Store a policy, and wait until it is served."""
        body: JsonObject = {"name": name, "retryLimit": limit, "defaultAction": default, "rules": list(rules)}
        await self.daemon.policies.create(body)
        await anyio.sleep(1)

    async def queue(self, name: str, *policies: str) -> None:
        """Store a queue with these policies."""
        await self.daemon.queues.create(Queue(name=name, retry_policies=policies))

    async def submit(
        self,
        script: str,
        *,
        queue: str = "q",
        memory: str = "64Mi",
        annotations: Mapping[str, str] | None = None,
        containers: Sequence[JsonObject] = (),
    ) -> JobId:
        """Submit a job whose pods play a script, by default of one container that asks for so much memory."""
        amounts: JsonObject = {"cpu": "1", "memory": memory}
        container: JsonObject = {"name": "main", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
        spec: JsonObject = {"terminationGracePeriodSeconds": 1, "containers": list(containers or (container,))}
        submission = Submission(pod_spec=spec, annotations={SCRIPT: script, **(annotations or {})})
        [submitted] = await self.daemon.jobs.submit(queue, "s", [submission])
        return submitted.job_id

    async def submit_gang(self, *scripts: str, queue: str = "q") -> list[JobId]:
        """Submit a gang, one member for each script, in one request."""
        gang = {ANNOTATION_GANG_ID: "gang-1", ANNOTATION_GANG_CARDINALITY: str(len(scripts))}
        container: JsonObject = {"name": "main", "image": "x"}
        submissions = [
            Submission(pod_spec={"containers": [container]}, annotations={SCRIPT: script, **gang}) for script in scripts
        ]
        return [member.job_id for member in await self.daemon.jobs.submit(queue, "s", submissions)]

    # ---- what can be seen

    async def job(self, job_id: JobId) -> Job:
        """A job as it is stored."""
        return await self.daemon.jobs.get(job_id)

    async def ended(self, job_id: JobId, within_s: float = 600) -> Job:
        """A job once it is over."""
        return await self.reached(job_id, lambda job: job.state.ended, within_s)

    async def reached(self, job_id: JobId, condition: Callable[[Job], bool], within_s: float = 600) -> Job:
        """A job once something holds of it."""
        wait_s = 0.1
        with anyio.fail_after(within_s):
            while not condition(job := await self.job(job_id)):
                await anyio.sleep(wait_s)
                wait_s = min(2.0, wait_s * 1.1)
        return job

    async def events(self, job_id: JobId) -> list[Event]:
        """The public events of a job."""
        job = await self.job(job_id)
        found = await self.daemon.events.read(job.queue, "s")
        return [message.event for message in found if message.event.job_id == job_id]

    async def told(self, job_id: JobId) -> list[str]:
        """The names of a job's public events, failures with what they say of a retry."""
        return [_name(event) for event in await self.events(job_id)]

    async def failures(self, job_id: JobId) -> list[JobFailed]:
        """The failures that a job's stream tells of."""
        return [event for event in await self.events(job_id) if isinstance(event, JobFailed)]

    async def verdicts(self, job_id: JobId) -> list[JsonObject]:
        """The stored explanations over a job's runs, oldest run first."""
        found = await self.daemon.store.read(lambda tx: inspection.verdicts_of(tx.connection, job_id))
        return [found[run.run_id] for run in (await self.job(job_id)).runs if run.run_id in found]

    def api(self, method: str, name: str, body: Json | None = None, cluster: str = "E1") -> Json | None:
        """Ask a cluster's API server about a pod of the namespace `default`, as somebody else; None if it refuses."""
        named = "" if method == "POST" else f"/{name}"
        path = f"/api/v1/namespaces/default/pods{named}"
        answer = self.machines[cluster].server._answer(HttpRequest(method, path, encode(body) if body else b""))
        return decode(answer.data) if is_good(answer) else None

    def pod(self, job_id: JobId, cluster: str = "E1") -> Json | None:
        """The job's pod as a cluster has it now."""
        return self.api("GET", pod_name(job_id), cluster=cluster)

    async def submit_where_the_name_is_taken(
        self, queue: str = "q", script: str = "succeed", annotations: Mapping[str, str] | None = None
    ) -> JobId:
        """Submit a job whose pod's name a pod of somebody else has, in every cluster."""
        await self.daemon.queues.cordon(queue, cordoned=True)
        job_id = await self.submit(script, queue=queue, annotations=annotations)
        container: Json = {"name": "main", "image": "x"}
        body: Json = {"metadata": {"name": pod_name(job_id)}, "spec": {"containers": [container]}}
        for cluster in self.clusters:
            assert self.api("POST", "", body, cluster)
        await self.daemon.queues.cordon(queue, cordoned=False)
        return job_id

    def give_name_back(self, job_id: JobId, cluster: str = "E1") -> None:
        """Remove the pod that had the name of this job's pod."""
        assert self.api("DELETE", f"{pod_name(job_id)}?gracePeriodSeconds=0", cluster=cluster)

    def calls(self, verb: str) -> list[Record]:
        """Requests of executors to API servers, in order."""
        calls = [record for record in self.world.trace.named("kube.call") if record.get("exec")]
        return [record for record in calls if record.get("verb") == verb]

    def logged(self, *levels: str) -> Iterator[str]:
        """What the host and the executors have logged."""
        for record in self.world.trace.named("log"):
            if not levels or record.get("level") in levels:
                yield record.get("text")

    def metric(self, name: str, **labels: str) -> float | None:
        """A sample of the plugin's metrics."""
        return self.host.registry.get_sample_value(name, labels)

    async def until(self, condition: Callable[[], object], within_s: float = 120) -> None:
        """Wait until something holds."""
        with anyio.fail_after(within_s):
            while not condition():  # noqa: ASYNC110  what is waited for says nothing
                await anyio.sleep(0.1)


def _name(event: Event) -> str:
    if isinstance(event, JobFailed):
        return "failed(retryable)" if event.retryable else "failed(final)"
    return event.NAME


def host_settings(tree: Tree) -> HostSettings:
    """Settings of a host."""
    return parse_settings(HostSettings, merge_trees([{"link": {"insecure": True}}, tree]))


def live(
    scenario: Callable[[System], Awaitable[T]],
    tree: Tree = ENGINE_ON,
    *,
    clusters: Mapping[str, Sequence[NodeSpec]] | None = None,
    categories: Sequence[JsonValue] = CATEGORIES,
    executor: Tree | None = None,
    limit_s: float = 24 * 3600.0,
) -> T:
    """Let a scenario happen to a system that was just started."""

    async def run(world: World) -> T:
        nodes = clusters or {"E1": (node("n1"), node("n2"))}
        system = System(world, host_settings(tree), nodes, categories, executor or {})
        try:
            await system.start()
            return await scenario(system)
        finally:
            system.close()

    return run_virtual(run, limit_s=limit_s)


def failed(job: Job) -> bool:
    """Whether a job has failed for good."""
    return job.state is JobState.FAILED

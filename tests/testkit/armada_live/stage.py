"""Plays one recorded scenario to Refloat: its executor, plugin and host on a simulated cluster, in virtual time.

The settings are those of the recordings (`setup.yaml`). What was done from outside is done after as many public
events as it was recorded after, and after the same time since the last of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import anyio
import yaml
from google.protobuf.json_format import MessageToDict

from refloat_common.core.ids import JobId
from refloat_common.core.jsontypes import JsonObject
from refloat_common.core.settings import merge_trees, parse_settings
from refloat_executor.settings import ExecutorSettings
from refloat_fakekube.core.objects import Json
from refloat_host.api.messages.events import event_message
from refloat_host.core.orders import Order
from refloat_host.core.queues import Queue
from refloat_host.core.selection import Selection
from refloat_host.core.submission import Submission
from refloat_host.daemon.host import HostDaemon
from refloat_host.settings import HostSettings
from testkit.armada_live.kubelet import RecordedKubelet
from testkit.armada_live.recordings import Action, Recording
from testkit.style.tree import ROOT
from testkit.virtual.process import SimProcess
from testkit.virtual.run import World, run_virtual
from testkit.virtual.trace import Trace
from testkit.world.apiserver import SimApiServer
from testkit.world.disk import SimDisk
from testkit.world.executor import SimMachine, start_executor
from testkit.world.network import SimNetwork
from testkit.world.scheduler import SimHost

CLUSTER = "cluster-1"
USER = "anonymous"
SETUP = yaml.safe_load((ROOT / "tests/data/armada_live/setup.yaml").read_text(encoding="utf-8"))
LINK = {"control": "tcp://127.0.0.1:1", "reports": "tcp://127.0.0.1:2", "insecure": True}
READY_S = 15.0
"""Until the executor's nodes and the policies are known."""
QUIET_S = 60.0
"""A scenario is over once nothing was said for so much longer than Armada was ever silent in it."""
PATIENCE_S = 500.0
"""So long the moment for an action is waited for."""
LOOK_S = 0.2

PublicEvents = Sequence[tuple[str, JsonObject]]
"""Name and body of each event, as protobuf's JSON."""


class ActionNotReachedError(Exception):
    """Something was done to Armada after events that Refloat never sent."""

    def __init__(self, action: Action, events: PublicEvents) -> None:
        super().__init__(f"{action.text} (t={action.t}) waits for more events than {[name for name, _ in events]}")


@dataclass(frozen=True, slots=True)
class Played:
    """What Refloat made of a scenario: the events of each of its jobs, and what happened inside."""

    events: tuple[PublicEvents, ...]
    job_ids: tuple[str, ...]
    pods: tuple[Sequence[Json], ...]
    """The pods of each job as they were created."""
    trace: Trace
    not_done: tuple[str, ...] = ()
    """Actions that were never reached."""


def play(recording: Recording, seed: int = 0) -> Played:
    """Play it to the end."""

    async def scenario(world: World) -> Played:
        return await _Stage(world, recording).play()

    return run_virtual(scenario, seed=seed)


class _Stage:
    """The actors of one scenario."""

    def __init__(self, world: World, recording: Recording) -> None:
        self._world = world
        self._recording = recording
        self._network = SimNetwork(world)
        self._host = SimHost(world, self._network, parse_settings(HostSettings, _host_tree(recording)))
        self._server = SimApiServer(world, CLUSTER)
        self._kubelet = RecordedKubelet(self._server, recording.pods, recording.start_s)
        self._machine = SimMachine(world, self._server, self._network, SimDisk(), self._host.name)
        self._executor: SimProcess | None = None

    async def play(self) -> Played:
        """From an empty store to the last event."""
        self._world.loop.start_process("kubelet", self._kubelet.run)
        self._host.start()
        self._start_executor()
        await anyio.sleep(READY_S / 2)
        job_ids = await self._submit()
        not_done = [action.text for action in self._recording.actions if not await self._act(action)]
        said = -1
        while said != (said := len(await self._events())):  # noqa: ASYNC110  silence is what is waited for
            await anyio.sleep(QUIET_S + _longest_silence_s(self._recording))
        messages = await self._events()
        events = tuple([(name, body) for name, body in messages if body["jobId"] == job_id] for job_id in job_ids)
        self._machine.disk.close()
        self._host.disk.close()
        pods = tuple(self._kubelet.made.get(job_id, []) for job_id in job_ids)
        return Played(events, tuple(job_ids), pods, self._world.trace, tuple(not_done))

    @property
    def _daemon(self) -> HostDaemon:
        assert self._host.daemon is not None
        return self._host.daemon

    async def _submit(self) -> Sequence[JobId]:
        recording, daemon = self._recording, self._daemon
        for policy in SETUP["policies"]:
            await daemon.policies.create(policy)
        await daemon.queues.create(Queue(name=recording.queue, retry_policies=recording.policies))
        await anyio.sleep(READY_S / 2)
        submitted = await daemon.jobs.submit(
            recording.queue, recording.name, [_submission(job) for job in recording.submitted], owner=USER
        )
        self._kubelet.jobs = [job.job_id for job in submitted]
        return self._kubelet.jobs

    async def _events(self) -> PublicEvents:
        found = await self._daemon.events.read(self._recording.queue, self._recording.name)
        told: list[tuple[str, JsonObject]] = []
        for message in found:
            told.extend(MessageToDict(event_message(message.event)).items())
        return told

    async def _act(self, action: Action) -> bool:
        """Do what was done from outside, in its time. False if its time never came."""
        if action.text.startswith(("kubectl", "eviction")):
            return True
        before = [event for event in self._recording.events if event.t <= action.t]
        with anyio.move_on_after(PATIENCE_S):
            while len(await self._events()) < len(before):  # noqa: ASYNC110  what is waited for says nothing
                await anyio.sleep(LOOK_S)
            await anyio.sleep(action.t - before[-1].t)
            await self._do(action.text)
            return True
        return False

    async def _do(self, text: str) -> None:
        jobs, name = self._daemon.jobs, self._recording.name
        match text:
            case "armadactl cancel job":
                await jobs.cancel(Selection(self._kubelet.jobs, self._recording.queue, name), Order(USER))
            case "job set cancelled by armadactl":
                await jobs.cancel(Selection((), self._recording.queue, name), Order(USER))
            case 'armadactl preempt job, reason "operator asked"':
                selection = Selection(self._kubelet.jobs, self._recording.queue, name)
                await jobs.preempt(selection, Order(USER, "operator asked"))
            case "executor killed":
                assert self._executor is not None
                self._world.loop.kill(self._executor)
            case "executor started":
                self._start_executor()
            case _:
                raise ValueError(text)

    def _start_executor(self) -> None:
        self._executor = start_executor(self._machine, _executor_settings(categories=self._recording.categories))


def _longest_silence_s(recording: Recording) -> float:
    """The longest time between two events, or between an action and the event that followed."""
    moments = sorted([*(event.t for event in recording.events), *(action.t for action in recording.actions)])
    return max(after - before for before, after in pairwise(moments))


def _submission(job: JsonObject) -> Submission:
    given: Any = job
    return Submission(
        pod_spec=given["podSpec"],
        namespace=given["namespace"],
        priority=given["priority"],
        annotations=given.get("annotations", {}),
    )


def _executor_settings(*, categories: bool) -> ExecutorSettings:
    rules = SETUP["errorCategories"] if categories else {"enabled": False}
    tree = {"application": {"clusterId": CLUSTER, "errorCategories": rules}, "link": LINK}
    return parse_settings(ExecutorSettings, tree)


def _host_tree(recording: Recording) -> Mapping[str, Any]:
    return merge_trees([{"link": {"insecure": True}}, SETUP["engines"][recording.engine]])

"""A cluster as small as can be that does to an executor what a real one does: pods by name, and a watch that lags.

Nothing here waits: every method is something that happens, now.
"""

from dataclasses import dataclass, field, replace

from refloat_common.core.pods import (
    ContainerState,
    ContainerStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    StateTerminated,
)
from refloat_common.core.taxonomy import LABEL_JOB_ID, LABEL_RUN_ID
from refloat_executor.core.cluster.answers import Conflict, Done, Missing
from refloat_executor.core.cluster.wire import WatchEvent
from refloat_executor.core.ledger.values.effects import DeletePod

TERMINAL = ("Failed", "Succeeded")
DELETED_AT = "2026-11-30T12:00:30Z"


@dataclass(frozen=True, slots=True)
class ModelPod:
    """A pod of the model. `ends` are the exit code and reason of its only container."""

    name: str
    uid: str
    run: str
    job: str
    version: int
    phase: str = "Pending"
    ends: tuple[int, str] | None = None
    deleted: bool = False
    held: bool = False
    """By a finalizer."""

    def shown(self) -> Pod:
        """As the API shows it."""
        state = None if self.ends is None else ContainerState(terminated=StateTerminated(self.ends[0], 0, self.ends[1]))
        meta = ObjectMeta(
            name=self.name,
            namespace="jobs",
            uid=self.uid,
            resource_version=str(self.version),
            deletion_timestamp=DELETED_AT if self.deleted else None,
            deletion_grace_period_seconds=30 if self.deleted and self.phase not in TERMINAL else None,
            labels={LABEL_JOB_ID: self.job, LABEL_RUN_ID: self.run},
        )
        status = PodStatus(phase=self.phase, container_statuses=[ContainerStatus("main", state)])
        return Pod(meta, PodSpec(node_name="n1", termination_grace_period_seconds=5), status)


@dataclass
class ModelCluster:
    """The pods of the namespace `jobs`, everything that ever started, and what the watch has not shown yet."""

    pods: dict[str, ModelPod] = field(default_factory=dict)
    started: dict[str, list[str]] = field(default_factory=dict)
    unseen: list[WatchEvent[Pod]] = field(default_factory=list)
    version: int = 100

    def exists(self, uid: str) -> bool:
        return any(pod.uid == uid for pod in self.pods.values())

    def list_all(self) -> tuple[Pod, ...]:
        return tuple(pod.shown() for pod in self.pods.values())

    def put(self, pod: ModelPod) -> ModelPod:
        """Store a pod as it is now, and show it to the watch."""
        self.version += 1
        kind = "MODIFIED" if pod.name in self.pods else "ADDED"
        pod = replace(pod, version=self.version)
        self.pods[pod.name] = pod
        self.unseen.append(WatchEvent(kind, pod.shown()))
        return pod

    def take_away(self, pod: ModelPod) -> None:
        """Remove a pod from storage."""
        self.version += 1
        del self.pods[pod.name]
        self.unseen.append(WatchEvent("DELETED", replace(pod, version=self.version, deleted=True).shown()))

    def blink(self, pod: ModelPod) -> None:
        """Somebody takes the label off and puts it on again: the watch shows a deletion that was none."""
        self.version += 1
        self.unseen.append(WatchEvent("DELETED", replace(pod, version=self.version).shown()))
        self.put(pod)

    def hide(self, pod: ModelPod) -> None:
        """Somebody takes the label off: the watch shows a deletion that was none, and then nothing more."""
        self.unseen.append(WatchEvent("DELETED", pod.shown()))

    # ---- what clients do

    def create(self, name: str, run: str, job: str) -> ModelPod | Conflict:
        if name in self.pods:
            return Conflict(f'pods "{name}" already exists', already_exists=True)
        uids = self.started.setdefault(run, [])
        uids.append(f"uid-{run}-{len(uids)}")
        return self.put(ModelPod(name, uids[-1], run, job, 0))

    def delete(self, request: DeletePod) -> Done | Missing | Conflict:
        pod = self.pods.get(request.name)
        if pod is None:
            return Missing()
        if pod.uid != request.uid or request.version not in ("", str(pod.version)):
            return Conflict("the precondition does not hold", already_exists=False)
        self.remove(pod, at_once=request.grace_s == 0)
        return Done(b"")

    def remove(self, pod: ModelPod, *, at_once: bool) -> None:
        """A DELETE that is taken: by us, or by somebody else."""
        if not pod.held and (at_once or pod.phase in TERMINAL):
            self.take_away(pod)
        elif not pod.deleted:
            self.put(replace(pod, deleted=True))

    # ---- what the kubelet does

    def advance(self, pod: ModelPod, outcome: int) -> None:
        """One step of the pod's life: it starts, it ends somehow, or it goes as it was told to."""
        if pod.deleted and pod.phase in TERMINAL:
            if not pod.held:
                self.take_away(pod)
        elif pod.deleted:
            self.put(replace(pod, phase="Failed", ends=(137, "Error")))
        elif pod.phase == "Pending":
            self.put(replace(pod, phase="Running"))
        elif pod.phase == "Running":
            phase, ends = ENDS[outcome % len(ENDS)]
            self.put(replace(pod, phase=phase, ends=ends))
        elif outcome >= len(ENDS):
            self.put(pod)  # a status update that changes nothing but the version


ENDS = (
    ("Succeeded", (0, "Completed")),
    ("Failed", (1, "Error")),
    ("Failed", (3, "Error")),
    ("Failed", (137, "Error")),
    ("Failed", (137, "OOMKilled")),
)

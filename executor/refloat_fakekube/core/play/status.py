"""Writes a pod's `status` from the state of its containers, as the kubelet does.

Source: `k8s.io/kubernetes/pkg/kubelet/status/generate.go`; shapes: `tests/data/real_node.jsonl`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from refloat_fakekube.core.objects import Json, JsonValue, time_text
from refloat_fakekube.core.play.containers import Container


@dataclass(slots=True)
class PodRun:
    """A pod on a node. `phase` is the one shown; it turns to Failed or Succeeded only when all is cleaned up.

    `failing`: the pod is to fail whatever its containers do (deadline, eviction). `foreign` are conditions that others
    have set. `since` holds, by condition, its status and the time of its last transition.
    """

    inits: list[Container]
    mains: list[Container]
    generation: int
    restart_policy: str
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    started_s: float = 0.0
    ip: str = ""
    ready_to_start: bool = False
    failing: bool = False
    quality: str = ""
    disruption: tuple[str, str] = ("", "")
    foreign: list[Json] = field(default_factory=list)
    since: dict[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def all(self) -> list[Container]:
        """Every container, init containers first."""
        return [*self.inits, *self.mains]

    @property
    def initialized(self) -> bool:
        """Whether every init container has done its part: ended well, or runs beside as a sidecar."""
        return all(one.created if one.sidecar else one.done for one in self.inits)

    def computed_phase(self) -> str:
        """The phase that the containers imply (`getPhase`), before it is shown."""
        if self.failing:
            return "Failed"
        if not self.initialized:
            failed = any(one.failed and not one.sidecar for one in self.inits)
            return "Failed" if failed and self.restart_policy == "Never" else "Pending"
        if any(one.state == "running" for one in self.mains):
            return "Running"
        if any(one.state == "waiting" and not one.last for one in self.mains):
            return "Pending"
        if self.restart_policy == "Always" or any(one.state == "waiting" for one in self.mains):
            return "Running"
        failed = any(one.failed for one in self.mains)
        if failed and self.restart_policy == "OnFailure":
            return "Running"
        if any(one.sidecar and one.state == "running" for one in self.inits):
            return "Running"
        return "Failed" if failed else "Succeeded"


OWNED = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
"""The conditions that a kubelet writes; all others stay as their owners set them, in front."""


def pod_status(run: PodRun, now_s: float) -> Json:
    """The whole `status`."""
    status: Json = {"observedGeneration": run.generation, "phase": run.phase}
    status["conditions"] = [*_conditions(run, now_s)]
    if run.ip:
        status["podIP"] = run.ip
        status["podIPs"] = [{"ip": run.ip}]
    if run.message:
        status["message"] = run.message
    if run.reason:
        status["reason"] = run.reason
    status["startTime"] = time_text(run.started_s)
    if run.inits:
        status["initContainerStatuses"] = [one.status() for one in run.inits]
    status["containerStatuses"] = [one.status() for one in sorted(run.mains, key=lambda one: one.name)]
    status["qosClass"] = run.quality
    return status


def rejected_status(run: PodRun) -> Json:
    """The `status` of a pod that the kubelet did not admit: no conditions, no containers."""
    return {
        "observedGeneration": run.generation,
        "phase": "Failed",
        "message": f"Pod was rejected: {run.message}",
        "reason": run.reason,
        "startTime": time_text(run.started_s),
        "qosClass": run.quality,
    }


def _conditions(run: PodRun, now_s: float) -> list[Json]:
    found: list[Json] = [*run.foreign]
    if run.disruption[0]:
        found.append(_condition(run, now_s, "DisruptionTarget", holds=True, why=run.disruption))
    found.append(_condition(run, now_s, "PodReadyToStartContainers", holds=run.ready_to_start))
    phase = run.computed_phase()
    found.append(_initialized(run, now_s, phase))
    why = _unready(run, phase)
    ready = [_condition(run, now_s, kind, holds=not why[0], why=why) for kind in ("Ready", "ContainersReady")]
    return [*found, *ready, _condition(run, now_s, "PodScheduled", holds=True)]


def _initialized(run: PodRun, now_s: float, phase: str) -> Json:
    if phase == "Succeeded":
        return _condition(run, now_s, "Initialized", holds=True, why=("PodCompleted", ""))
    incomplete = [one for one in run.inits if not (one.created if one.sidecar else one.done)]
    if not incomplete:
        return _condition(run, now_s, "Initialized", holds=True)
    why = ("ContainersNotInitialized", f"containers with incomplete status: {_listed(incomplete)}")
    return _condition(run, now_s, "Initialized", holds=False, why=why)


def _unready(run: PodRun, phase: str) -> tuple[str, str]:
    if phase == "Succeeded":
        return "PodCompleted", ""
    if phase == "Failed":
        return "PodFailed", ""
    judged = [one for one in run.all if one.sidecar or not one.init]
    unready = [one for one in judged if one.state != "running"]
    return ("ContainersNotReady", f"containers with unready status: {_listed(unready)}") if unready else ("", "")


def _listed(containers: Sequence[Container]) -> str:
    return f"[{' '.join(one.name for one in containers)}]"


def _condition(run: PodRun, now_s: float, kind: str, *, holds: bool, why: tuple[str, str] = ("", "")) -> Json:
    status = "True" if holds else "False"
    before = run.since.get(kind)
    if before is None or before[0] != status:
        before = (status, now_s)
        run.since[kind] = before
    shown: Json = {"type": kind, "observedGeneration": run.generation, "status": status, "lastProbeTime": None}
    shown["lastTransitionTime"] = time_text(before[1])
    for key, value in zip(("reason", "message"), why, strict=True):
        if value:
            shown[key] = value
    return shown


def status_patch(new: Json, old: Json, uid: str) -> Json:
    """A strategic merge patch from the kubelet's last status to its next, for the pod with this uid and no other.

    What the old status said and the new one does not is set to null; conditions of others stay.
    """
    status: Json = {key: None for key in old if key not in new}
    status.update({key: value for key, value in new.items() if old.get(key) != value})
    conditions = new.get("conditions")
    if isinstance(conditions, list):
        status["conditions"] = [_cleared(one) for one in conditions]
        order: list[JsonValue] = [{"type": one["type"]} for one in conditions if isinstance(one, dict)]
        status["$setElementOrder/conditions"] = order
    return {"metadata": {"uid": uid}, "status": status}


def _cleared(condition: JsonValue) -> JsonValue:
    if not isinstance(condition, dict):
        return condition
    return {"reason": None, "message": None, **condition}

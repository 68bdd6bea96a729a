"""The state of one container as a kubelet keeps it, and its `ContainerStatus`.

Shapes: what a kubelet 1.34 wrote (`tests/data/real_node.jsonl`).
"""

import hashlib
from dataclasses import dataclass, field

from refloat_fakekube.core.objects import Json, JsonValue, number, objects, section, text, time_s, time_text

MESSAGE_MAX_BYTES = 4096
"""The kubelet cuts termination messages here (`MaxContainerTerminationMessageLength`)."""
NEVER_STARTED_S = 0.0
"""`startedAt` of a container that could not be started: 1970."""
UNKNOWN_MESSAGE = "The container could not be located when the pod was terminated"


@dataclass(slots=True)
class Container:
    """One container of one pod. `state` is waiting, running or terminated; times are seconds since 1970."""

    name: str
    image: str
    init: bool
    sidecar: bool
    resources: Json
    seed: str
    state: str = "waiting"
    reason: str = "ContainerCreating"
    message: str = ""
    code: int = 0
    started_s: float = 0.0
    finished_s: float = 0.0
    created: bool = False
    restarts: int = 0
    pulls: int = 0
    last: Json = field(default_factory=dict)
    mounts: list[JsonValue] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether it ended badly."""
        return self.state == "terminated" and self.code != 0

    @property
    def done(self) -> bool:
        """Whether it ended well."""
        return self.state == "terminated" and self.code == 0

    @property
    def path(self) -> str:
        """`fieldPath` of its events."""
        return f"spec.{'initContainers' if self.init else 'containers'}{{{self.name}}}"

    def start(self, now_s: float) -> None:
        """It runs from now on."""
        self.state, self.reason, self.message = "running", "", ""
        self.started_s, self.created = now_s, True

    def end(self, now_s: float, code: int, reason: str = "", message: str = "") -> None:
        """Its process has ended."""
        self.state, self.code, self.finished_s = "terminated", code, now_s
        self.reason = reason or ("Completed" if code == 0 else "Error")
        self.message = message.encode()[:MESSAGE_MAX_BYTES].decode(errors="ignore")
        self.created = True

    def lose(self) -> None:
        """It never ran, and its pod is over: `ContainerStatusUnknown`."""
        self.state, self.code, self.reason, self.message = "terminated", 137, "ContainerStatusUnknown", UNKNOWN_MESSAGE
        self.started_s = self.finished_s = NEVER_STARTED_S

    def again(self, reason: str, message: str) -> None:
        """It waits for its next start; the end it had becomes `lastState`."""
        self.last = self._state()
        self.state, self.reason, self.message = "waiting", reason, message

    def restart(self, now_s: float) -> None:
        """It is started again."""
        if self.state == "terminated":
            self.last = self._state()
        self.restarts += 1
        self.start(now_s)

    def recall(self, shown: Json) -> None:
        """Take over what a `ContainerStatus` says."""
        self.restarts = number(shown, "restartCount") or 0
        self.last = section(shown, "lastState")
        running, ended = section(shown, "state").get("running"), section(shown, "state").get("terminated")
        if isinstance(running, dict):
            self.start(_seconds(running, "startedAt"))
        elif isinstance(ended, dict):
            self.started_s = _seconds(ended, "startedAt")
            self.end(_seconds(ended, "finishedAt"), number(ended, "exitCode") or 0, text(ended, "reason"))
            self.message = text(ended, "message")
        else:
            self.reason = text(shown, "state", "waiting", "reason") or self.reason
            self.message = text(shown, "state", "waiting", "message")

    def status(self) -> Json:
        """Its `ContainerStatus`."""
        known = self.created
        shown: Json = {
            "name": self.name,
            "state": self._state(),
            "lastState": self.last,
            "ready": self._ready(),
            "restartCount": self.restarts,
            "image": self.image,
            "imageID": f"sha256:{_digest(self.image)}" if known else "",
        }
        if known:
            shown["containerID"] = self._id()
        shown["started"] = self.state == "running"
        if known:
            requests = section(self.resources, "requests")
            if requests:
                shown["allocatedResources"] = requests
            shown["resources"] = self.resources
        if self.mounts:
            shown["volumeMounts"] = self.mounts
        return shown

    def _ready(self) -> bool:
        if self.init and not self.sidecar:
            return self.done
        return self.state == "running"

    def _id(self) -> str:
        return f"containerd://{_digest(f'{self.seed}/{self.name}/{self.restarts}')}"

    def _state(self) -> Json:
        if self.state == "running":
            return {"running": {"startedAt": time_text(self.started_s)}}
        if self.state == "waiting":
            waiting: Json = {"reason": self.reason}
            if self.message:
                waiting["message"] = self.message
            return {"waiting": waiting}
        ended: Json = {"exitCode": self.code, "reason": self.reason}
        if self.message:
            ended["message"] = self.message
        if self.reason == "ContainerStatusUnknown":
            return {"terminated": {**ended, "startedAt": None, "finishedAt": None}}
        ended["startedAt"] = time_text(self.started_s)
        ended["finishedAt"] = time_text(self.finished_s)
        return {"terminated": {**ended, "containerID": self._id()}}


def _seconds(state: Json, key: str) -> float:
    return time_s(text(state, key)) if text(state, key) else NEVER_STARTED_S


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def _mount(mount: Json) -> Json:
    return {key: value for key, value in mount.items() if key in {"name", "mountPath", "readOnly"}}


def containers_of(pod: Json) -> tuple[list[Container], list[Container]]:
    """The init containers and the containers of a pod, before anything has happened."""
    found: list[list[Container]] = []
    for field_name, init in (("initContainers", True), ("containers", False)):
        found.append(
            [
                Container(
                    name=text(spec, "name"),
                    image=text(spec, "image"),
                    init=init,
                    sidecar=init and text(spec, "restartPolicy") == "Always",
                    resources=section(spec, "resources"),
                    seed=text(pod, "metadata", "uid"),
                    mounts=[_mount(mount) for mount in objects(spec, "volumeMounts")],
                )
                for spec in objects(pod, "spec", field_name)
            ]
        )
    inits, mains = found
    if inits:
        for container in (*inits, *mains):
            container.reason = "PodInitializing"
    return inits, mains

"""A pod as a row: the words of its STATUS column above all.

Source: `printPod` in `k8s.io/kubernetes/pkg/printers/internalversion/printers.go`.
"""

from refloat_fakekube.core.objects import Json, JsonValue, number, objects, section, text, time_s
from refloat_fakekube.core.protocol.tables.ages import age, human

COLUMNS = (
    ("Name", "string", "name", 0),
    ("Ready", "string", "", 0),
    ("Status", "string", "", 0),
    ("Restarts", "string", "", 0),
    ("Age", "string", "", 0),
    ("IP", "string", "", 1),
    ("Node", "string", "", 1),
    ("Nominated Node", "string", "", 1),
    ("Readiness Gates", "string", "", 1),
)
_NONE = "<none>"
_NODE_LOST = "NodeLost"


def pod_row(pod: Json, now_s: float) -> list[JsonValue]:
    """The cells of a pod."""
    status = section(pod, "status")
    counted = [*objects(status, "containerStatuses"), *_sidecars(pod)]
    ready = sum(1 for one in counted if one.get("ready") and "running" in section(one, "state"))
    total = len(objects(pod, "spec", "containers")) + len(_sidecar_names(pod))
    return [
        text(pod, "metadata", "name"),
        f"{ready}/{total}",
        _status(pod),
        _restarts(pod, counted, now_s),
        age(text(pod, "metadata", "creationTimestamp"), now_s),
        text(status, "podIP") or _NONE,
        text(pod, "spec", "nodeName") or _NONE,
        text(status, "nominatedNodeName") or _NONE,
        _NONE,
    ]


def _sidecar_names(pod: Json) -> set[str]:
    return {
        text(one, "name") for one in objects(pod, "spec", "initContainers") if text(one, "restartPolicy") == "Always"
    }


def _sidecars(pod: Json) -> list[Json]:
    names = _sidecar_names(pod)
    return [one for one in objects(pod, "status", "initContainerStatuses") if text(one, "name") in names]


def _restarts(pod: Json, counted: list[Json], now_s: float) -> str:
    waits = _initializing(pod)
    counted = objects(pod, "status", "initContainerStatuses") if waits else counted
    total = sum(number(one, "restartCount") or 0 for one in counted)
    ends = [text(one, "lastState", "terminated", "finishedAt") for one in counted]
    last = max((time_s(end) for end in ends if end), default=0.0)
    return f"{total} ({human(int(now_s - last))} ago)" if total and last else str(total)


def _status(pod: Json) -> str:
    status = section(pod, "status")
    words = text(status, "reason") or text(status, "phase")
    for condition in objects(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            words = "SchedulingGated"
    words = _initializing(pod) or _of_containers(pod, words)
    if text(pod, "metadata", "deletionTimestamp"):
        if text(status, "reason") == _NODE_LOST:
            return "Unknown"
        if text(status, "phase") not in {"Failed", "Succeeded"}:
            return "Terminating"
    return words


def _initializing(pod: Json) -> str:
    """What an init container that is not done yet is shown as; empty when all are."""
    sidecars, total = _sidecar_names(pod), len(objects(pod, "spec", "initContainers"))
    for place, one in enumerate(objects(pod, "status", "initContainerStatuses")):
        state = section(one, "state")
        ended, waiting = state.get("terminated"), state.get("waiting")
        if isinstance(ended, dict) and ended.get("exitCode") == 0:
            continue
        if text(one, "name") in sidecars and one.get("started"):
            continue
        if isinstance(ended, dict):
            return f"Init:{_ended(ended)}"
        if isinstance(waiting, dict) and text(waiting, "reason") not in {"", "PodInitializing"}:
            return f"Init:{text(waiting, 'reason')}"
        return f"Init:{place}/{total}"
    return ""


def _of_containers(pod: Json, words: str) -> str:
    running = False
    for one in reversed(objects(pod, "status", "containerStatuses")):
        state = section(one, "state")
        ended, waiting = state.get("terminated"), state.get("waiting")
        if isinstance(waiting, dict) and text(waiting, "reason"):
            words = text(waiting, "reason")
        elif isinstance(ended, dict):
            words = _ended(ended)
        elif one.get("ready") and "running" in state:
            running = True
    if words == "Completed" and running:
        ready = any(
            one.get("type") == "Ready" and one.get("status") == "True" for one in objects(pod, "status", "conditions")
        )
        return "Running" if ready else "NotReady"
    return words


def _ended(terminated: Json) -> str:
    reason, signal = text(terminated, "reason"), number(terminated, "signal")
    return reason or (f"Signal:{signal}" if signal else f"ExitCode:{number(terminated, 'exitCode')}")

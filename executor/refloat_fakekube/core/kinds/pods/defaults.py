"""Fills in what a pod's author left out, as the API server does (defaulting, and the admission plugins on by default).

Sources: `k8s.io/kubernetes/pkg/apis/core/v1/defaults.go`; the admission plugins DefaultTolerationSeconds and Priority.
"""

from refloat_common.core.quantity import QuantityShapeError, QuantitySuffixError, parse
from refloat_fakekube.core.objects import Json, JsonValue, ensure, number, objects, section, text

DEFAULT_GRACE_S = 30
_TOLERATION_S = 300
_FILE_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODED_VOLUMES = ("configMap", "secret", "projected", "downwardAPI")


def default_pod(pod: Json) -> None:
    """Defaults that apply whenever a pod is decoded."""
    spec = ensure(pod, "spec")
    for key, value in _SPEC.items():
        spec.setdefault(key, value)
    spec.setdefault("securityContext", {})
    if (number(spec, "terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    _tolerate(spec)
    for field in ("initContainers", "containers"):
        for container in objects(spec, field):
            _default_container(container, host_network=bool(spec.get("hostNetwork")))
    for volume in objects(spec, "volumes"):
        for source in _MODED_VOLUMES:
            if isinstance(volume.get(source), dict):
                ensure(volume, source).setdefault("defaultMode", _FILE_MODE)
    _default_status(section(pod, "status"))
    overhead = spec.get("overhead")
    if isinstance(overhead, dict):
        _canonical_all(overhead)


def _default_status(status: Json) -> None:
    """Fields that the typed object always shows, empty or null."""
    if text(status, "podIP") and not objects(status, "podIPs"):
        status["podIPs"] = [{"ip": text(status, "podIP")}]
    for condition in objects(status, "conditions"):
        condition.setdefault("lastProbeTime", None)
        condition.setdefault("lastTransitionTime", None)
    for field in ("initContainerStatuses", "containerStatuses"):
        for container in objects(status, field):
            for key, value in _CONTAINER_STATUS.items():
                container.setdefault(key, value)
            for state in ("state", "lastState"):
                running = ensure(container, state).get("running")
                if isinstance(running, dict):
                    running.setdefault("startedAt", None)
                terminated = ensure(container, state).get("terminated")
                if isinstance(terminated, dict):
                    terminated.setdefault("startedAt", None)
                    terminated.setdefault("finishedAt", None)


_CONTAINER_STATUS: dict[str, JsonValue] = {"ready": False, "restartCount": 0, "image": "", "imageID": ""}
_SPEC: dict[str, JsonValue] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": DEFAULT_GRACE_S,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}


def _default_container(container: Json, *, host_network: bool) -> None:
    resources = ensure(container, "resources")
    for part in ("limits", "requests"):
        if isinstance(resources.get(part), dict):
            _canonical_all(section(resources, part))
    for name, value in section(resources, "limits").items():
        ensure(resources, "requests").setdefault(name, value)
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(text(container, "image")))
    for port in objects(container, "ports"):
        port.setdefault("protocol", "TCP")
        if host_network:
            port.setdefault("hostPort", port.get("containerPort"))
    for probe in _PROBES:
        if isinstance(container.get(probe), dict):
            for key, value in _PROBE.items():
                ensure(container, probe).setdefault(key, value)
    for variable in objects(container, "env"):
        if isinstance(section(variable, "valueFrom").get("fieldRef"), dict):
            ensure(variable, "valueFrom", "fieldRef").setdefault("apiVersion", "v1")


def _pull_policy(image: str) -> str:
    _, at, _ = image.partition("@")
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    return "Always" if not at and tag in {"", "latest"} else "IfNotPresent"


def _canonical_all(quantities: Json) -> None:
    for name, value in quantities.items():
        try:
            quantities[name] = str(parse(str(value)))
        except (QuantityShapeError, QuantitySuffixError):
            continue


def begin_pod(pod: Json) -> None:
    """What is set once, at creation: priority (admission) and an empty status."""
    spec = ensure(pod, "spec")
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    pod["status"] = {"phase": "Pending", "qosClass": quality(pod)}
    gates = objects(spec, "schedulingGates")
    if gates:
        condition: Json = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
        condition["message"] = "Scheduling is blocked due to non-empty scheduling gates"
        ensure(pod, "status")["conditions"] = [condition]


def _tolerate(spec: Json) -> None:
    found = spec.get("tolerations")
    tolerations: list[JsonValue] = list(found) if isinstance(found, list) else []
    given = objects(spec, "tolerations")
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_covers(toleration, key) for toleration in given):
            added: Json = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations.append({**added, "tolerationSeconds": _TOLERATION_S})
    spec["tolerations"] = tolerations


def _covers(toleration: Json, key: str) -> bool:
    return text(toleration, "key") in {"", key} and text(toleration, "effect") in {"", "NoExecute"}


def quality(pod: Json) -> str:
    """`status.qosClass`: Guaranteed, Burstable or BestEffort, from cpu and memory of all containers."""
    asked, guaranteed = False, True
    for field in ("initContainers", "containers"):
        for container in objects(pod, "spec", field):
            requests, limits = section(container, "resources", "requests"), section(container, "resources", "limits")
            for name in ("cpu", "memory"):
                asked = asked or _positive(requests.get(name)) or _positive(limits.get(name))
                guaranteed = guaranteed and _positive(limits.get(name)) and requests.get(name) == limits.get(name)
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _positive(value: JsonValue) -> bool:
    return value not in (None, "0", "")

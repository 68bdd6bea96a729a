"""Judges pods: the obvious rules of `k8s.io/kubernetes/pkg/apis/core/validation`, in its words."""

from collections.abc import Iterator

from refloat_common.core.quantity import QuantityShapeError, QuantitySuffixError, parse
from refloat_fakekube.core.kinds import causes, metadata
from refloat_fakekube.core.kinds.metadata import label_faults, subdomain_faults
from refloat_fakekube.core.objects import Json, JsonValue, clone, number, objects, section, text
from refloat_fakekube.core.refusals import BadRequestError, Cause

_RESTART = ["Always", "OnFailure", "Never"]
_PULL = ["Always", "IfNotPresent", "Never"]
_OVERCOMMITTED = {"cpu", "memory", "ephemeral-storage"}
_CHANGEABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


def check_pod(pod: Json) -> list[Cause]:
    """The causes that the spec of a new pod gives.

    Raises:
        BadRequestError: a quantity can't be read, which the real server notices while decoding.
    """
    found: list[Cause] = []
    spec = section(pod, "spec")
    seen: set[str] = set()
    volumes = _volumes(spec, found)
    if not objects(spec, "containers"):
        found.append(causes.required("spec.containers"))
    for path, container in _containers(spec):
        found += _check_container(path, container, seen, volumes)
    if spec.get("restartPolicy") not in _RESTART:
        found.append(causes.unsupported("spec.restartPolicy", spec.get("restartPolicy"), _RESTART))
    deadline = number(spec, "activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < 1 << 31:
        words = "must be between 1 and 2147483647, inclusive"
        found.append(causes.invalid("spec.activeDeadlineSeconds", deadline, words))
    node = text(spec, "nodeName")
    if node:
        found += [causes.invalid("spec.nodeName", node, fault) for fault in subdomain_faults(node)]
    return found


def _containers(spec: Json) -> Iterator[tuple[str, Json]]:
    for field in ("containers", "initContainers"):
        for place, container in enumerate(objects(spec, field)):
            yield f"spec.{field}[{place}]", container


def _volumes(spec: Json, found: list[Cause]) -> set[str]:
    names: set[str] = set()
    for place, volume in enumerate(objects(spec, "volumes")):
        name = text(volume, "name")
        path = f"spec.volumes[{place}].name"
        if not name:
            found.append(causes.required(path))
        elif name in names:
            found.append(causes.duplicate(path, name))
        else:
            found += [causes.invalid(path, name, fault) for fault in label_faults(name)]
        names.add(name)
    return names


def _check_container(path: str, container: Json, seen: set[str], volumes: set[str]) -> list[Cause]:
    found: list[Cause] = []
    name = text(container, "name")
    if not name:
        found.append(causes.required(f"{path}.name"))
    elif name in seen:
        found.append(causes.duplicate(f"{path}.name", name))
    else:
        found += [causes.invalid(f"{path}.name", name, fault) for fault in label_faults(name)]
    seen.add(name)
    if not text(container, "image"):
        found.append(causes.required(f"{path}.image"))
    if container.get("imagePullPolicy") not in _PULL:
        found.append(causes.unsupported(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULL))
    for place, variable in enumerate(objects(container, "env")):
        if not text(variable, "name"):
            found.append(causes.required(f"{path}.env[{place}].name"))
    for place, mount in enumerate(objects(container, "volumeMounts")):
        if text(mount, "name") not in volumes:
            found.append(causes.missing(f"{path}.volumeMounts[{place}].name", text(mount, "name")))
        if not text(mount, "mountPath"):
            found.append(causes.required(f"{path}.volumeMounts[{place}].mountPath"))
    return [*found, *_check_resources(f"{path}.resources", section(container, "resources"))]


def _check_resources(path: str, resources: Json) -> list[Cause]:
    found: list[Cause] = []
    limits, requests = section(resources, "limits"), section(resources, "requests")
    for part, quantities in (("limits", limits), ("requests", requests)):
        for name, value in quantities.items():
            if _parsed(value) < 0:
                words = "must be greater than or equal to 0"
                found.append(causes.invalid(f"{path}.{part}[{name}]", value, words))
    for name, value in requests.items():
        limit = limits.get(name)
        if limit is None:
            continue
        if name not in _OVERCOMMITTED and _parsed(value) != _parsed(limit):
            words = f"must be equal to {name} limit of {limit}"
            found.append(causes.invalid(f"{path}.requests", value, words))
        elif _parsed(value) > _parsed(limit):
            words = f"must be less than or equal to {name} limit of {limit}"
            found.append(causes.invalid(f"{path}.requests", value, words))
    return found


def _parsed(value: JsonValue) -> int:
    try:
        return parse(str(value)).nanos
    except (QuantityShapeError, QuantitySuffixError) as error:
        raise BadRequestError(f'Pod in version "v1" cannot be handled as a Pod: {error}') from error


def check_pod_update(new: Json, old: Json) -> list[Cause]:
    """The causes that changing an existing pod's spec gives (`ValidatePodUpdate`)."""
    found = [*metadata.check_update(new, old), *check_pod(new)]
    new_spec, old_spec = clone(section(new, "spec")), section(old, "spec")
    for field in ("containers", "initContainers"):
        ours, theirs = objects(new_spec, field), objects(old_spec, field)
        if len(ours) != len(theirs):
            return [*found, causes.forbidden(f"spec.{field}", "pod updates may not add or remove containers")]
        for mine, other in zip(ours, theirs, strict=True):
            mine["image"] = other.get("image")
    found += _check_deadline(new_spec, old_spec)
    _put_back(new_spec, old_spec, "activeDeadlineSeconds")
    added = [one for one in objects(old_spec, "tolerations") if one not in objects(new_spec, "tolerations")]
    if added:
        words = "existing toleration can not be modified except its tolerationSeconds"
        found.append(causes.forbidden("spec.tolerations", words))
    _put_back(new_spec, old_spec, "tolerations")
    _put_back(new_spec, old_spec, "schedulingGates")
    if new_spec != old_spec:
        words = f"pod updates may not change fields other than {_CHANGEABLE}"
        found.append(causes.forbidden("spec", f"{words}\n{_difference(old_spec, new_spec)}"))
    return found


def _check_deadline(new_spec: Json, old_spec: Json) -> list[Cause]:
    before, after = number(old_spec, "activeDeadlineSeconds"), number(new_spec, "activeDeadlineSeconds")
    if before is None or before == after:
        return []
    path = "spec.activeDeadlineSeconds"
    if after is None:
        return [causes.invalid(path, None, "must not update from a positive integer to nil value")]
    return [causes.invalid(path, after, "must be less than or equal to previous value")] if after > before else []


def _put_back(new_spec: Json, old_spec: Json, field: str) -> None:
    if field in old_spec:
        new_spec[field] = old_spec[field]
    else:
        new_spec.pop(field, None)


def _difference(old: Json, new: Json) -> str:
    fields = sorted(key for key in {**old, **new} if old.get(key) != new.get(key))
    return "\n".join(f"- {key}: {old.get(key)!r}\n+ {key}: {new.get(key)!r}" for key in fields)


def check_pod_status(new: Json, old: Json) -> list[Cause]:
    """The causes that a new status gives: a container of a pod that never restarts stays terminated."""
    found: list[Cause] = []
    policy = text(old, "spec", "restartPolicy")
    if policy == "Always":
        return found
    for place, before in enumerate(objects(old, "status", "containerStatuses")):
        ended = before.get("state")
        terminated = ended.get("terminated") if isinstance(ended, dict) else None
        if not isinstance(terminated, dict) or (policy == "OnFailure" and terminated.get("exitCode") != 0):
            continue
        for after in objects(new, "status", "containerStatuses"):
            if after.get("name") == before.get("name") and "terminated" not in section(after, "state"):
                words = "may not be transitioned to non-terminated state"
                found.append(causes.forbidden(f"status.containerStatuses[{place}].state", words))
    return found

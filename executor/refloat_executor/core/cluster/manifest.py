"""Decides how a leased run becomes the pod that is created for it.

Name, labels, annotations and environment are Armada's, written once at creation: nothing is patched later. The spec
comes in the lease with every change for a retry already in it. What the job's owner wrote never overrides what
identifies the run.
"""

import re
from collections.abc import Mapping

import msgspec

from refloat_common.core.ids import JobId, pod_name
from refloat_common.core.jsontypes import JsonValue
from refloat_common.core.messages import Lease
from refloat_common.core.taxonomy import (
    ANNOTATION_GANG_CARDINALITY,
    ANNOTATION_GANG_ID,
    ANNOTATION_JOB_SET,
    ANNOTATION_OWNER,
    ANNOTATION_POOL,
    LABEL_JOB_ID,
    LABEL_POD_COUNT,
    LABEL_POD_NUMBER,
    LABEL_QUEUE,
    LABEL_RUN_ID,
)

_GANG_NODE_LABEL_KEYS = ("ARMADA_GANG_NODE_UNIFORMITY_LABEL_NAME", "ARMADA_GANG_NODE_UNIFORMITY_LABEL_VALUE")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""RFC 1123 label, as the API server checks it; here because it becomes a part of a URL."""
_encoder = msgspec.json.Encoder()


class InvalidLeaseError(Exception):
    """A lease that can't become a pod, whatever the cluster says."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)


def pod_body(lease: Lease, pool: str) -> bytes:
    """The JSON of the pod to create.

    Raises:
        InvalidLeaseError: no queue or job set, or the spec is not a pod spec.
    """
    if not lease.queue or not lease.job_set:
        raise InvalidLeaseError("received invalid job - the queue and the job set must not be empty")
    if not _NAMESPACE.fullmatch(lease.namespace):
        raise InvalidLeaseError(f"received invalid job - {lease.namespace!r} is not the name of a namespace")
    spec = _spec(lease)
    environment = _environment(lease)
    for part in ("containers", "initContainers"):
        if part in spec:
            spec[part] = [_with_environment(container, environment) for container in _containers(spec, part)]
    spec["restartPolicy"] = "Never"
    return _encoder.encode({"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(lease, pool), "spec": spec})


def _metadata(lease: Lease, pool: str) -> dict[str, object]:
    identity = {
        LABEL_JOB_ID: lease.job,
        LABEL_RUN_ID: lease.run,
        LABEL_QUEUE: lease.queue,
        LABEL_POD_NUMBER: "0",
        LABEL_POD_COUNT: "1",
    }
    written = {ANNOTATION_JOB_SET: lease.job_set, ANNOTATION_OWNER: lease.owner}
    return {
        "name": pod_name(JobId(lease.job)),
        "namespace": lease.namespace,
        "labels": lease.labels | identity,
        "annotations": {ANNOTATION_POOL: pool} | lease.annotations | written,
    }


def _spec(lease: Lease) -> dict[str, JsonValue]:
    try:
        spec = msgspec.json.decode(lease.pod_spec or b"null", type=dict[str, object] | None)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidLeaseError(f"the pod spec is not a JSON object: {error}") from None
    if not spec:
        raise InvalidLeaseError("no podspec found in the main object - jobs must specify a podspec")
    return spec  # type: ignore[return-value]  # msgspec decodes `object` to exactly these types


def _containers(spec: Mapping[str, JsonValue], part: str) -> list[dict[str, JsonValue]]:
    containers = spec[part] or []
    if not isinstance(containers, list) or not all(isinstance(container, dict) for container in containers):
        raise InvalidLeaseError(f"spec.{part} is not a list of containers")
    return [container for container in containers if isinstance(container, dict)]


def _environment(lease: Lease) -> dict[str, str]:
    variables = {"ARMADA_JOB_ID": lease.job, "ARMADA_QUEUE": lease.queue, "ARMADA_JOB_SET_ID": lease.job_set}
    gang = lease.annotations.get(ANNOTATION_GANG_ID, "")
    if gang:
        variables["ARMADA_GANG_ID"] = gang
        variables["ARMADA_GANG_CARDINALITY"] = lease.annotations.get(ANNOTATION_GANG_CARDINALITY, "")
        for key in _GANG_NODE_LABEL_KEYS:
            if key in lease.annotations:
                variables[key] = lease.annotations[key]
    return variables


def _with_environment(container: dict[str, JsonValue], variables: Mapping[str, str]) -> dict[str, JsonValue]:
    """The container with the variables that it does not set itself."""
    present = [] if container.get("env") is None else container["env"]
    if not isinstance(present, list):
        raise InvalidLeaseError("the env of a container is not a list")
    names = {entry.get("name") for entry in present if isinstance(entry, dict)}
    added: list[JsonValue] = [{"name": name, "value": value} for name, value in variables.items() if name not in names]
    return {**container, "env": [*present, *added]}

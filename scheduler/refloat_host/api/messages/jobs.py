"""Jobs: what a request to submit asks for, as the host's own values."""

import math
from collections.abc import Iterable, Mapping

from armada_client.armada import submit_pb2
from armada_client.k8s.io.api.core.v1 import generated_pb2 as core_v1

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_common.core.podproto import KubernetesFormError, to_json
from refloat_host.api.messages.unknown import refuse_unknown_fields
from refloat_host.core.errors import InvalidFieldError
from refloat_host.core.submission import MAX_PRIORITY, Submission

_STANDINGS: Mapping[int, str] = {
    submit_pb2.QUEUED: "queued",
    submit_pb2.LEASED: "leased",
    submit_pb2.PENDING: "pending",
    submit_pb2.RUNNING: "running",
}
ANNOTATION_EXTERNAL_JOB_URI = "armadaproject.io/externalJobUri"
DEFAULT_NAMESPACE = "default"


def submission_of(item: submit_pb2.JobSubmitRequestItem, path: str) -> Submission:
    """One job as it is asked for, its pod spec as Kubernetes JSON.

    Args:
        item: the job's message.
        path: where it stands in its request, for errors.

    Raises:
        InvalidFieldError: the first field that can't be used.
    """
    refuse_unknown_fields(item, path)
    for name, asked in (("ingress", item.ingress), ("services", item.services)):
        if asked:
            ports = [list(each.ports) for each in asked]
            raise InvalidFieldError(f"{path}.{name}", ports, "must be left out: only pods are created")
    annotations = dict(item.annotations)
    if item.external_job_uri:
        annotations[ANNOTATION_EXTERNAL_JOB_URI] = item.external_job_uri
    return Submission(
        pod_spec=_pod_spec(item, path),
        namespace=item.namespace or DEFAULT_NAMESPACE,
        priority=priority_of(item.priority, f"{path}.priority"),
        client_id=item.client_id,
        labels=dict(item.labels),
        annotations=annotations,
    )


def priority_of(priority: float, path: str) -> int:
    """A priority as the whole number that it is inside; rounded as Armada rounds, half away from zero.

    Raises:
        InvalidFieldError: it is no finite number from 0 to 2³²-1.
    """
    if not math.isfinite(priority) or not 0 <= priority <= MAX_PRIORITY:
        raise InvalidFieldError(path, priority, f"must be between 0 and {MAX_PRIORITY}")
    return math.floor(priority + 0.5)


def standings_of(states: Iterable[int], path: str) -> frozenset[str]:
    """What a filter over Armada's job states means for `Selection.standings`; no states mean all.

    Raises:
        InvalidFieldError: one of them ends a job, or does not exist.
    """
    given = tuple(states)
    for state in given:
        if state not in _STANDINGS:
            known = submit_pb2.JobState.DESCRIPTOR.values_by_number.get(state)
            raise InvalidFieldError(path, known.name if known else state, "must be QUEUED, LEASED, PENDING or RUNNING")
    return frozenset(_STANDINGS[state] for state in given)


def _pod_spec(item: submit_pb2.JobSubmitRequestItem, path: str) -> JsonObject:
    spec, at = _the_spec(item, path)
    try:
        body = to_json(spec, at)
    except KubernetesFormError as error:
        raise InvalidFieldError(error.path, error.value, error.why) from None
    if item.required_node_labels:
        body["nodeSelector"] = _with_labels(body.get("nodeSelector"), item.required_node_labels, path)
    return body


def _the_spec(item: submit_pb2.JobSubmitRequestItem, path: str) -> tuple[core_v1.PodSpec, str]:
    """The only pod spec, and where it stands."""
    given = len(item.pod_specs) + item.HasField("pod_spec")
    if given != 1:
        why = "pod specs are given; there must be one, in podSpec or in podSpecs"
        raise InvalidFieldError(f"{path}.podSpec", given, why)
    if item.HasField("pod_spec"):
        return item.pod_spec, f"{path}.podSpec"
    return item.pod_specs[0], f"{path}.podSpecs[0]"


def _with_labels(selector: JsonValue, labels: Mapping[str, str], path: str) -> JsonObject:
    """A node selector with the labels that the request's own, older field demands."""
    merged = dict(selector) if isinstance(selector, Mapping) else {}
    for key in sorted(labels):
        if merged.setdefault(key, labels[key]) != labels[key]:
            why = f"contradicts the pod spec's node selector, which says {merged[key]!r}"
            raise InvalidFieldError(f"{path}.requiredNodeLabels[{key}]", labels[key], why)
    return merged

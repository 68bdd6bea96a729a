"""Keeps the managed pods of the cluster, small, and says what differs when one changes.

Managed are pods with the label `armada_job_id`. Of a pod's metadata only identity, version, deletion and the two
labels that lead to its run are kept; what does not change between two states of a pod is shared by them.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from refloat_common.core.pods import ObjectMeta, Pod
from refloat_common.core.taxonomy import LABEL_JOB_ID, LABEL_RUN_ID


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one pod: `before` is None for a new one, `after` is None for one that is no longer seen.

    `last` is, for one no longer seen, the newest state that was shown of it.
    """

    before: Pod | None
    after: Pod | None
    last: Pod | None = None


def pod_key(namespace: str, name: str) -> str:
    """The key of a pod's name: a slash is in neither part."""
    return f"{namespace}/{name}"


class PodStore:
    """The managed pods by namespace and name. A changed uid under one name is one pod gone and another come."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def get(self, namespace: str, name: str) -> Pod | None:
        """The pod that has this name now, as far as is known."""
        return self._pods.get(pod_key(namespace, name))

    def upsert(self, pod: Pod) -> tuple[Change, ...]:
        """Take over a pod as the watch or a read shows it."""
        key = pod_key(pod.metadata.namespace, pod.metadata.name)
        before = self._pods.get(key)
        if before is not None and before.metadata.uid == pod.metadata.uid:
            after = _slim_after(pod, before)
            self._pods[key] = after
            return (Change(before, after),)
        if not is_managed(pod):
            return () if before is None else self.remove(before)
        after = slim(pod)
        self._pods[key] = after
        if before is None:
            return (Change(None, after),)
        return Change(before, None, before), Change(None, after)

    def remove(self, pod: Pod) -> tuple[Change, ...]:
        """Forget a pod that a DELETED event showed for the last time. Another uid under that name stays."""
        key = pod_key(pod.metadata.namespace, pod.metadata.name)
        before = self._pods.get(key)
        if before is None or before.metadata.uid != pod.metadata.uid:
            return ()
        del self._pods[key]
        return (Change(before, None, pod),)

    def replace(self, pods: Iterable[Pod], namespace: str) -> list[Change]:
        """Take over a complete list of one namespace (empty: of all). Pods that it lacks are gone."""
        listed: set[str] = set()
        changes: list[Change] = []
        for pod in pods:
            listed.add(pod_key(pod.metadata.namespace, pod.metadata.name))
            changes.extend(self.upsert(pod))
        lost = [
            pod
            for key, pod in self._pods.items()
            if key not in listed and (not namespace or pod.metadata.namespace == namespace)
        ]
        for pod in lost:
            changes.extend(self.remove(pod))
        return changes


def is_managed(pod: Pod) -> bool:
    """Whether the pod is one of a job (specification of labels: presence of `armada_job_id`)."""
    labels = pod.metadata.labels
    return labels is not None and LABEL_JOB_ID in labels


def run_label(pod: Pod) -> str:
    """The run that the pod says it is of. A claim, not an identity: anybody may write a label."""
    labels = pod.metadata.labels
    return labels.get(LABEL_RUN_ID, "") if labels else ""


def slim(pod: Pod) -> Pod:
    """The pod without what nobody reads again."""
    meta, labels = pod.metadata, pod.metadata.labels or {}
    kept = {key: labels[key] for key in (LABEL_JOB_ID, LABEL_RUN_ID) if key in labels}
    return Pod(_meta(meta, kept), pod.spec, pod.status)


def _slim_after(pod: Pod, before: Pod) -> Pod:
    """The same, sharing with the state before; labels are identity and are read once."""
    spec = before.spec if pod.spec.node_name == before.spec.node_name else pod.spec
    return Pod(_meta(pod.metadata, before.metadata.labels), spec, pod.status)


def _meta(meta: ObjectMeta, labels: dict[str, str] | None) -> ObjectMeta:
    return ObjectMeta(
        meta.name,
        sys.intern(meta.namespace),
        meta.uid,
        meta.resource_version,
        meta.creation_timestamp,
        meta.deletion_timestamp,
        meta.deletion_grace_period_seconds,
        labels,
        None,
        meta.finalizers,
    )

"""Keeps the managed pods of the cluster, small, and says what differs when one changes.

Managed are pods with the label `armada_job_id`. Of a pod's metadata only identity, version, deletion and the two
labels that lead to its run are kept; of a running pod's status only what could ever say how it ended. Most changes of
a busy cluster are heartbeats of pods that simply run: these are no changes here, and cost next to nothing.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from refloat_common.core.pods import ObjectMeta, Pod, PodStatus
from refloat_common.core.taxonomy import LABEL_JOB_ID, LABEL_RUN_ID
from refloat_executor.core.cluster.wire import DELETED, WatchEvent


class Change(msgspec.Struct, frozen=True, gc=False):
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
        self._running: set[str] = set()
        """Uids of the pods that simply run: what most changes are about, found without making a key."""

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def get(self, namespace: str, name: str) -> Pod | None:
        """The pod that has this name now, as far as is known."""
        return self._pods.get(pod_key(namespace, name))

    def watched(self, events: Sequence[WatchEvent[Pod]]) -> list[Change]:
        """Take over what a watch shows, in order; what changed by it."""
        changes: list[Change] = []
        for event in events:
            pod = event.object
            if event.type == DELETED:
                changes += self.remove(pod)
            elif pod.metadata.uid not in self._running or not _runs_on(pod):
                changes += self.upsert(pod)
        return changes

    def upsert(self, pod: Pod) -> tuple[Change, ...]:
        """Take over a pod as the watch or a list shows it; empty where nothing of interest changed."""
        uid = pod.metadata.uid
        runs = _runs_on(pod)
        if runs and uid in self._running:
            return ()
        key = pod_key(pod.metadata.namespace, pod.metadata.name)
        before = self._pods.get(key)
        if before is not None and before.metadata.uid == uid:
            return (self._put(key, _slim_after(pod, before, runs=runs), before, runs=runs),)
        gone = () if before is None else self.remove(before)
        if not is_managed(pod):
            return gone
        return (*gone, self._put(key, slim(pod, runs=runs), None, runs=runs))

    def _put(self, key: str, pod: Pod, before: Pod | None, *, runs: bool) -> Change:
        self._pods[key] = pod
        keep = self._running.add if runs else self._running.discard
        keep(pod.metadata.uid)
        return Change(before, pod)

    def remove(self, pod: Pod) -> tuple[Change, ...]:
        """Forget a pod that a DELETED event showed for the last time. Another uid under that name stays."""
        key = pod_key(pod.metadata.namespace, pod.metadata.name)
        before = self._pods.get(key)
        if before is None or before.metadata.uid != pod.metadata.uid:
            return ()
        del self._pods[key]
        self._running.discard(before.metadata.uid)
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


def slim(pod: Pod, *, runs: bool) -> Pod:
    """The pod without what nobody reads again; `runs`: it simply runs."""
    meta, labels = pod.metadata, pod.metadata.labels or {}
    kept = {key: labels[key] for key in (LABEL_JOB_ID, LABEL_RUN_ID) if key in labels}
    return Pod(_meta(meta, kept), pod.spec, _running(pod) if runs else pod.status)


def _slim_after(pod: Pod, before: Pod, *, runs: bool) -> Pod:
    """The same, sharing with the state before; labels are identity and are read once."""
    spec = before.spec if pod.spec.node_name == before.spec.node_name else pod.spec
    return Pod(_meta(pod.metadata, before.metadata.labels), spec, _running(pod) if runs else pod.status)


def _runs_on(pod: Pod) -> bool:
    """Whether the pod simply runs: nobody deletes it, nothing in it has ended, and nothing announces its end."""
    status = pod.status
    if status.phase != "Running" or pod.metadata.deletion_timestamp is not None or status.reason:
        return False
    for container in status.container_statuses or ():
        if container.state is not None and container.state.terminated is not None:
            return False
    for condition in status.conditions or ():  # noqa: SIM110  a generator costs as much as all the rest
        if condition.type == DISRUPTION:
            return False
    return True


def _running(pod: Pod) -> PodStatus:
    """What is kept of the status of a pod that simply runs."""
    return PodStatus(phase="Running", start_time=pod.status.start_time)


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


DISRUPTION = "DisruptionTarget"

"""Decides whether a pod ended because its node or the cluster took it away, and whether somebody deleted it first.

Sources: `status.reason` as the kubelet and the node life-cycle controller write it; the condition DisruptionTarget
(Kubernetes, "Pod disruption conditions"); `metadata.deletionTimestamp`, which already includes the grace period.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from refloat_common.core.categories.evidence import Death
from refloat_common.core.pods import Pod

_NODE_REASONS = frozenset({
    "Terminated",  # the kubelet ended the pod because its node shuts down
    "NodeShutdown",  # the kubelet refused the pod for the same reason
    "Shutdown",  # both of these before Kubernetes 1.22
    "NodeLost",  # the node stopped answering
    "NodeAffinity",  # refused after a restart of the node, before its labels were back
})  # fmt: skip


_DELETING_REASONS = frozenset({"EvictionByEvictionAPI", "PreemptionByScheduler", "DeletionByTaintManager"})
"""Reasons of DisruptionTarget that announce a deletion. Where none follows, the announcement came to nothing."""

_LONGEST_GRACE_S = 10 * 365 * 86_400
_YEARS = (1900, 9000)


def lost_with_node(pod: Pod, deaths: Sequence[Death]) -> bool:
    """Whether the pod failed through no doing of its own: node shut down or lost, drained, tainted, or preempted.

    A reason in the pod's status is the kubelet's own account and settles it. Without one, the condition
    DisruptionTarget does, unless a container had already failed when it was set: a taint or a drain also marks pods
    that ended long before.
    """
    if pod.status.reason:
        return pod.status.reason in _NODE_REASONS
    return disrupted(pod, deaths)


def disrupted(pod: Pod, deaths: Sequence[Death]) -> bool:
    """Whether DisruptionTarget was true before any container failed. Unknown times count as "before"."""
    for condition in pod.status.conditions or ():
        if condition.type == "DisruptionTarget" and condition.status == "True":
            if condition.reason in _DELETING_REASONS and pod.metadata.deletion_timestamp is None:
                return False
            return not _any_before(deaths, _instant(condition.last_transition_time))
    return False


def deleted_before_end(pod: Pod, deaths: Sequence[Death]) -> bool:
    """Whether the pod's deletion was asked for before, or with, the end of its first failed container.

    A pod that the kubelet gave a reason without running it had ended before anybody could.
    """
    deletion = _instant(pod.metadata.deletion_timestamp)
    if deletion is None or (pod.status.reason and not deaths):
        return False
    grace_s = min(max(pod.metadata.deletion_grace_period_seconds or 0, 0), _LONGEST_GRACE_S)
    return not _any_before(deaths, deletion - timedelta(seconds=grace_s))


def _any_before(deaths: Sequence[Death], instant: datetime | None) -> bool:
    if instant is None:
        return False
    ends = (_instant(death.finished_at) for death in deaths)
    return any(end is not None and end < instant for end in ends)


def _instant(text: str | None) -> datetime | None:
    """An RFC 3339 time, or None where there is none or it cannot be read."""
    if not text:
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Years at the ends of the calendar would overflow when a grace period is taken off.
    return instant.replace(tzinfo=instant.tzinfo or UTC) if _YEARS[0] < instant.year < _YEARS[1] else None

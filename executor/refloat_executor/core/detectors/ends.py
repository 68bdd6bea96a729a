"""Decides how a pod ended: well, badly, by somebody else's deletion, or out of sight.

A deletion that is not ours ends the job whatever the containers' exit codes say, 0 too: the kubelet writes them while
it ends the pod. It counts where it was asked for before the containers had ended; one that comes after the end changes
nothing about it.
"""

from datetime import UTC, datetime, timedelta

from refloat_common.core.categories import deleted_before_end, failure_of
from refloat_common.core.pods import ContainerStatus, Pod
from refloat_executor.core.detectors.sighting import Sighting
from refloat_executor.core.ledger.values.news import News, PodFailed, PodSucceeded, PodUnseen

HOLD_S = 1.0
"""How long exit code 137 without a reason waits for one: the kubelet may write OOMKilled a moment later."""
KILLED = 137
OOM_KILLED = "OOMKilled"


def unseen(sighting: Sighting) -> News | None:
    """The watch, or a list, no longer shows the pod."""
    return PodUnseen(sighting.last) if sighting.after is None else None


def failed(sighting: Sighting) -> News | None:
    """`status.phase` Failed."""
    pod = sighting.after
    if pod is None or pod.status.phase != "Failed":
        return None
    return PodFailed(pod, _ended_by_others(sighting.before, pod), HOLD_S if reason_may_follow(pod) else 0.0)


def succeeded(sighting: Sighting) -> News | None:
    """`status.phase` Succeeded, unless somebody ended the pod before its containers had."""
    pod = sighting.after
    if pod is None or pod.status.phase != "Succeeded":
        return None
    if _was_being_deleted(sighting.before) or not _ended_before_deletion(pod):
        return PodFailed(pod, foreign_delete=True)
    return PodSucceeded(pod)


def reason_may_follow(pod: Pod) -> bool:
    """Whether a container was killed (137) and neither it nor the pod says why."""
    if pod.status.reason:
        return False
    killed = False
    for status in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ())):
        end = status.state.terminated if status.state is not None else None
        if end is None:
            continue
        if end.reason == OOM_KILLED:
            return False
        killed = killed or end.exit_code == KILLED
    return killed


def _ended_by_others(before: Pod | None, pod: Pod) -> bool:
    """Whether a failed pod was asked to go before it had failed. What was seen counts before what the times say.

    Times are cut to whole seconds: alone they call a deletion in the second of the end the earlier of the two.
    """
    if pod.metadata.deletion_timestamp is None or (before is not None and _had_failed(before)):
        return False
    return _was_being_deleted(before) or deleted_before_end(pod, failure_of(pod).deaths)


def _had_failed(before: Pod) -> bool:
    return before.status.phase == "Failed" and before.metadata.deletion_timestamp is None


def _was_being_deleted(before: Pod | None) -> bool:
    """Whether the pod was seen on its way out while it had not ended."""
    if before is None or before.metadata.deletion_timestamp is None:
        return False
    return before.status.phase not in ("Failed", "Succeeded")


def _ended_before_deletion(pod: Pod) -> bool:
    """Whether every container had ended when the deletion was asked for; so too where no deletion was."""
    asked = _instant(pod.metadata.deletion_timestamp)
    if asked is None:
        return pod.metadata.deletion_timestamp is None
    # The API sets the timestamp to the time of the request plus the grace period.
    asked -= timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    ends = [_finished(status) for status in pod.status.container_statuses or ()]
    return bool(ends) and all(end is not None and end < asked for end in ends)


def _finished(status: ContainerStatus) -> datetime | None:
    if status.state is None or status.state.terminated is None:
        return None
    return _instant(status.state.terminated.finished_at)


def _instant(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)

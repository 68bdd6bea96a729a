"""Decides what a pod shows about its failure: which containers failed, and which words are the platform's own.

Everything here reads one pod object, its events at most, and nothing else. Field names are Kubernetes'.
"""

from collections.abc import Iterator, Sequence

import msgspec

from refloat_common.core.pods import Event, Pod, PodStatus, StateTerminated
from refloat_common.core.taxonomy import Cause

PHASE_FAILED = "Failed"
REASON_OOM_KILLED = "OOMKilled"
REASON_EVICTED = "Evicted"
REASON_DEADLINE_EXCEEDED = "DeadlineExceeded"

_USER_SPEAKS = frozenset({"Error", "Completed", REASON_OOM_KILLED})
"""Reasons under which a terminated message is what the user's process wrote; under any other it is the runtime's."""


class Death(msgspec.Struct, frozen=True, gc=False):
    """A container that ended with an exit code other than 0 (`state.terminated`)."""

    name: str
    exit_code: int
    reason: str
    message: str
    finished_at: str | None = None


class ContainerError(msgspec.Struct, frozen=True, gc=False):
    """One container in the list that a report carries; here exit code 0 is present too."""

    name: str
    exit_code: int
    reason: str
    message: str
    cause: Cause


class Evidence(msgspec.Struct, frozen=True):
    """All that a classification looks at.

    `deaths` are regular containers first, then init containers, native sidecars left out; `text` is what onPodError
    is searched in; `events` are those of this pod.
    """

    pod: Pod
    deaths: tuple[Death, ...]
    text: str
    events: tuple[Event, ...] = ()


def failed(pod: Pod) -> bool:
    """Whether Kubernetes calls the pod failed (`status.phase`)."""
    return pod.status.phase == PHASE_FAILED


def failure_of(pod: Pod, events: Sequence[Event] | None = None, message: str | None = None) -> Evidence:
    """Collects the evidence of a pod.

    Args:
        pod: The pod as last seen.
        events: Its events, if they could be had. Those of an earlier pod of this name are left out.
        message: A text of the executor's own about the pod (why it cannot start, for example), instead of what the
            platform wrote into the pod.
    """
    deaths = _deaths(pod)
    if message is None:
        message = pod.status.message or "".join(map(_platform_line, deaths))
    uid = pod.metadata.uid
    own = [event for event in events or () if not uid or event.involved_object.uid in {"", uid}]
    return Evidence(pod, deaths, message, tuple(own))


def failed_reason(pod: Pod) -> str:
    """The text about the failure that a report carries: the pod's own message, else a line for each failed container.

    Unlike the text that rules see, it quotes what user processes wrote, and native sidecars.
    """
    if pod.status.message:
        return pod.status.message
    return "".join(
        f"Container {name} failed with exit code {end.exit_code} because {end.reason}: {end.message}\n"
        for name, end in _terminated(pod.status)
        if end.exit_code
    )


def cause_of(pod: Pod) -> Cause:
    """The coarse cause of a failure, as Armada's events name it. A native sidecar that ran out of memory is none."""
    if pod.status.reason == REASON_EVICTED:
        return Cause.EVICTED
    if pod.status.reason == REASON_DEADLINE_EXCEEDED:
        return Cause.DEADLINE_EXCEEDED
    sidecars = _native_sidecars(pod)
    if any(end.reason == REASON_OOM_KILLED and name not in sidecars for name, end in _terminated(pod.status)):
        return Cause.OOM
    return Cause.ERROR


def container_errors(pod: Pod) -> tuple[ContainerError, ...]:
    """Every container that has ended, whatever its exit code: regular containers first, then init containers."""
    return tuple(
        ContainerError(
            name,
            end.exit_code,
            end.reason,
            end.message,
            Cause.OOM if end.reason == REASON_OOM_KILLED else Cause.ERROR,
        )
        for name, end in _terminated(pod.status)
    )


def with_hint(message: str, hint: str) -> str:
    """A failure's message with the matching rule's hint under it."""
    return f"{message}\n\n{hint}" if hint else message


def _deaths(pod: Pod) -> tuple[Death, ...]:
    # The loop is written out: this runs for every failed pod, and generators cost a third of its time.
    found: list[Death] = []
    for status in pod.status.container_statuses or ():
        end = status.state.terminated if status.state is not None else None
        if end is not None and end.exit_code:
            found.append(Death(status.name, end.exit_code, end.reason, end.message, end.finished_at))
    if pod.status.init_container_statuses:
        sidecars = _native_sidecars(pod)
        for status in pod.status.init_container_statuses:
            end = status.state.terminated if status.state is not None else None
            if end is not None and end.exit_code and status.name not in sidecars:
                found.append(Death(status.name, end.exit_code, end.reason, end.message, end.finished_at))
    return tuple(found)


def _native_sidecars(pod: Pod) -> frozenset[str]:
    """Names of init containers that run beside the main ones; how they end says nothing about the job."""
    return frozenset(c.name for c in pod.spec.init_containers or () if c.restart_policy == "Always")


def _terminated(status: PodStatus) -> Iterator[tuple[str, StateTerminated]]:
    for statuses in (status.container_statuses, status.init_container_statuses):
        for container in statuses or ():
            if container.state is not None and container.state.terminated is not None:
                yield container.name, container.state.terminated


def _platform_line(death: Death) -> str:
    """The line of `failed_reason` for a container, without what a user's process wrote."""
    words = "" if death.reason in _USER_SPEAKS else death.message
    return f"Container {death.name} failed with exit code {death.exit_code} because {death.reason}: {words}\n"

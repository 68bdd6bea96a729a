"""Pods and events for tests, as short as what matters in them."""

from collections.abc import Sequence

from refloat_common.core.pods import (
    Container,
    ContainerState,
    ContainerStatus,
    Event,
    ObjectMeta,
    ObjectReference,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    StateRunning,
    StateTerminated,
)

UID = "0b9f6a1e-0000-4000-8000-000000000001"


def ended(
    name: str, exit_code: int, reason: str = "Error", message: str = "", finished_at: str | None = None
) -> ContainerStatus:
    """A container that has ended."""
    state = StateTerminated(exit_code=exit_code, reason=reason, message=message, finished_at=finished_at)
    return ContainerStatus(name=name, state=ContainerState(terminated=state))


def running(name: str) -> ContainerStatus:
    """A container that runs."""
    return ContainerStatus(name=name, state=ContainerState(running=StateRunning()))


def pod(  # each argument is one field of a pod
    *containers: ContainerStatus,
    init: Sequence[ContainerStatus] = (),
    sidecars: Sequence[str] = (),
    phase: str = "Failed",
    reason: str = "",
    message: str = "",
    conditions: Sequence[PodCondition] = (),
    deleted_at: str | None = None,
    grace_s: int | None = None,
) -> Pod:
    """A pod with these container statuses; `sidecars` are the init containers that are native sidecars."""
    return Pod(
        metadata=ObjectMeta(
            name="armada-job-a-0",
            namespace="batch",
            uid=UID,
            deletion_timestamp=deleted_at,
            deletion_grace_period_seconds=grace_s,
        ),
        spec=PodSpec(
            containers=[Container(name=status.name) for status in containers],
            init_containers=[
                Container(name=status.name, restart_policy="Always" if status.name in sidecars else None)
                for status in init
            ],
        ),
        status=PodStatus(
            phase=phase,
            reason=reason,
            message=message,
            conditions=list(conditions),
            container_statuses=list(containers),
            init_container_statuses=list(init),
        ),
    )


def event(kind: str, reason: str, message: str, uid: str = UID) -> Event:
    """An event about the pod of `pod()`, or about that with another uid."""
    about = ObjectReference(kind="Pod", name="armada-job-a-0", namespace="batch", uid=uid)
    return Event(type=kind, reason=reason, message=message, involved_object=about)


def disruption(reason: str, since: str, status: str = "True") -> PodCondition:
    """The condition DisruptionTarget."""
    return PodCondition(type="DisruptionTarget", status=status, reason=reason, last_transition_time=since)

"""The few fields of Kubernetes objects that Refloat reads, as structs decoded straight from JSON.

Field names are those of the Kubernetes API in snake case. Every field has a default, because a BOOKMARK carries a
pod with nothing but a resourceVersion, and because a missing list may come as null.
"""

import msgspec


class _Narrow(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Base of all narrow structs: camelCase on the wire, unknown fields skipped, no cycle collector."""


class OwnerReference(_Narrow, frozen=True):
    """`metadata.ownerReferences[]`."""

    kind: str = ""
    name: str = ""


class ObjectMeta(_Narrow, frozen=True):
    """`metadata`, as far as it is read. Times stay RFC 3339 text; most are never looked at."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class StateWaiting(_Narrow, frozen=True):
    """`state.waiting`."""

    reason: str = ""
    message: str = ""


class StateRunning(_Narrow, frozen=True):
    """`state.running`."""

    started_at: str | None = None


class StateTerminated(_Narrow, frozen=True):
    """`state.terminated`; exit codes may be negative (Windows) or 0."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(_Narrow, frozen=True):
    """One of three, or none of them yet."""

    waiting: StateWaiting | None = None
    running: StateRunning | None = None
    terminated: StateTerminated | None = None


class ContainerStatus(_Narrow, frozen=True):
    """`status.containerStatuses[]` and `status.initContainerStatuses[]`."""

    name: str = ""
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    restart_count: int = 0
    started: bool | None = None


class Container(_Narrow, frozen=True):
    """`spec.containers[]` and `spec.initContainers[]`; `restart_policy` Always marks a native sidecar."""

    name: str = ""
    restart_policy: str | None = None


class PodCondition(_Narrow, frozen=True):
    """`status.conditions[]`."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodSpec(_Narrow, frozen=True):
    """`spec`, as far as it is read."""

    node_name: str = ""
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None


class PodStatus(_Narrow, frozen=True):
    """`status`, as far as it is read."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Pod(_Narrow, frozen=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class ObjectReference(_Narrow, frozen=True):
    """`involvedObject` of an event."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class Event(_Narrow, frozen=True):
    """A core/v1 event about a pod."""

    metadata: ObjectMeta = ObjectMeta()
    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""


class Taint(_Narrow, frozen=True):
    """`spec.taints[]` of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(_Narrow, frozen=True):
    """`spec` of a node."""

    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeStatus(_Narrow, frozen=True):
    """`status` of a node; quantities stay text."""

    allocatable: dict[str, str] | None = None
    conditions: list[PodCondition] | None = None


class Node(_Narrow, frozen=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

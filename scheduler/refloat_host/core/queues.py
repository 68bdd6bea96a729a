"""What a queue is, and which queues are refused."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from refloat_host.core.errors import InvalidFieldError

SUBJECT_KINDS: Final = ("User", "Group")
VERBS: Final = ("submit", "cancel", "preempt", "reprioritize", "watch")
MAX_LABEL_VALUE_BYTES = 63
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
"""A Kubernetes label value that is not empty: a queue's name is one on every pod (`armada_queue_id`)."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A user or a group."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Permission:
    """What subjects may do with a queue's jobs."""

    subjects: tuple[Subject, ...] = ()
    verbs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fractions:
    """Shares of a pool that a priority class may use: in every pool, and pool by pool. Kept for the API only."""

    maximum_resource_fraction: Mapping[str, float] = field(default_factory=dict)
    maximum_resource_fraction_by_pool: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue. `retry_policies` are in order of precedence; only the first is evaluated (specification)."""

    name: str
    priority_factor: float = 1.0
    user_owners: tuple[str, ...] = ()
    group_owners: tuple[str, ...] = ()
    permissions: tuple[Permission, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    cordoned: bool = False
    resource_limits: Mapping[str, float] = field(default_factory=dict)
    resource_limits_by_priority_class_name: Mapping[str, Fractions] = field(default_factory=dict)
    retry_policies: tuple[str, ...] = ()


def checked_queue(queue: Queue) -> Queue:
    """The queue as it is stored: repeated policies collapse to their first place (Armada facts, section 5.7).

    Raises:
        InvalidFieldError: the first field that can't be used.
    """
    name = queue.name
    if not _LABEL_VALUE.match(name) or len(name.encode()) > MAX_LABEL_VALUE_BYTES:
        raise InvalidFieldError("name", name, "is no Kubernetes label value, and every pod of the queue carries it")
    if not math.isfinite(queue.priority_factor) or queue.priority_factor < 1.0:
        raise InvalidFieldError("priorityFactor", queue.priority_factor, "must be a finite number of at least 1.0")
    for key, value in queue.labels.items():
        if not key or not value:
            raise InvalidFieldError("labels", f"{key}={value}", "must have a key and a value")
    for permission in queue.permissions:
        _check_permission(permission)
    _check_limits(queue.resource_limits, "resourceLimits")
    for priority_class, fractions in queue.resource_limits_by_priority_class_name.items():
        path = f"resourceLimitsByPriorityClassName[{priority_class}]"
        _check_limits(fractions.maximum_resource_fraction, f"{path}.maximumResourceFraction")
        for pool, limits in fractions.maximum_resource_fraction_by_pool.items():
            _check_limits(limits, f"{path}.maximumResourceFractionByPool[{pool}]")
    return replace(queue, retry_policies=_collapsed(queue.retry_policies))


def _check_permission(permission: Permission) -> None:
    for subject in permission.subjects:
        if subject.kind not in SUBJECT_KINDS:
            raise InvalidFieldError("permissions.subjects.kind", subject.kind, "must be User or Group")
        if not subject.name:
            raise InvalidFieldError("permissions.subjects.name", subject.name, "must not be empty")
    for verb in permission.verbs:
        if verb not in VERBS:
            raise InvalidFieldError("permissions.verbs", verb, f"must be one of {', '.join(VERBS)}")


def _check_limits(limits: Mapping[str, float], path: str) -> None:
    """JSON, in which a queue is stored, has no NaN and no infinity."""
    for resource, limit in limits.items():
        if not math.isfinite(limit) or limit < 0:
            raise InvalidFieldError(f"{path}[{resource}]", limit, "must be a finite number, not negative")


def _collapsed(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))

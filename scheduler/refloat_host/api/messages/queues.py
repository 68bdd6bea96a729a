"""Queues: Armada's message and the host's value."""

from armada_client.armada import submit_pb2

from refloat_host.core.errors import InvalidFieldError
from refloat_host.core.queues import Fractions, Permission, Queue, Subject


def queue_of(message: submit_pb2.Queue) -> Queue:
    """The queue that a message stands for, unjudged.

    Raises:
        InvalidFieldError: it uses the old form of labels, which is not kept.
    """
    if message.labels_deprecated:
        raise InvalidFieldError("labelsDeprecated", list(message.labels_deprecated), "is not kept; use labels")
    limits = message.resource_limits_by_priority_class_name
    return Queue(
        name=message.name,
        priority_factor=message.priority_factor,
        user_owners=tuple(message.user_owners),
        group_owners=tuple(message.group_owners),
        permissions=tuple(_permission_of(permission) for permission in message.permissions),
        labels=dict(message.labels),
        cordoned=message.cordoned,
        resource_limits=dict(message.resource_limits),
        resource_limits_by_priority_class_name={name: _fractions_of(limits[name]) for name in limits},
        retry_policies=tuple(message.retry_policies),
    )


def queue_message(queue: Queue) -> submit_pb2.Queue:
    """The message of a queue."""
    limits = queue.resource_limits_by_priority_class_name
    return submit_pb2.Queue(
        name=queue.name,
        priority_factor=queue.priority_factor,
        user_owners=queue.user_owners,
        group_owners=queue.group_owners,
        permissions=[_permission_message(permission) for permission in queue.permissions],
        labels=queue.labels,
        cordoned=queue.cordoned,
        resource_limits=queue.resource_limits,
        resource_limits_by_priority_class_name={name: _fractions_message(limits[name]) for name in limits},
        retry_policies=queue.retry_policies,
    )


def _permission_of(message: submit_pb2.Queue.Permissions) -> Permission:
    subjects = tuple(Subject(subject.kind, subject.name) for subject in message.subjects)
    return Permission(subjects, tuple(message.verbs))


def _permission_message(permission: Permission) -> submit_pb2.Queue.Permissions:
    kind = submit_pb2.Queue.Permissions
    subjects = [kind.Subject(kind=subject.kind, name=subject.name) for subject in permission.subjects]
    return kind(subjects=subjects, verbs=permission.verbs)


def _fractions_of(message: submit_pb2.PriorityClassResourceLimits) -> Fractions:
    pools = message.maximum_resource_fraction_by_pool
    return Fractions(
        dict(message.maximum_resource_fraction), {pool: dict(pools[pool].maximum_resource_fraction) for pool in pools}
    )


def _fractions_message(fractions: Fractions) -> submit_pb2.PriorityClassResourceLimits:
    in_pool = submit_pb2.PriorityClassPoolResourceLimits
    pools = fractions.maximum_resource_fraction_by_pool
    return submit_pb2.PriorityClassResourceLimits(
        maximum_resource_fraction=fractions.maximum_resource_fraction,
        maximum_resource_fraction_by_pool={pool: in_pool(maximum_resource_fraction=pools[pool]) for pool in pools},
    )

"""Queues and retry policies: what an operator sets up."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, select

from refloat_common.core.jsontypes import JsonObject
from refloat_host.adapters.store.queries.effects import append, upsert
from refloat_host.adapters.store.queries.rows import AnyRow, Values, to_json
from refloat_host.adapters.store.tables import queue_retry_policies, queues, retry_policies
from refloat_host.core.queues import Queue

_queue = msgspec.json.Decoder(Queue)
_object: msgspec.json.Decoder[JsonObject] = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A retry policy as stored: its body in the API's JSON form, and the hash that names what it says."""

    name: str
    body: JsonObject
    content_hash: str
    updated_at_ms: int


def put_policy(connection: Connection, policy: StoredPolicy) -> None:
    """Store a policy; one of the same name is replaced, and stays attached where it is."""
    values: Values = {
        "name": policy.name,
        "document": to_json(policy.body),
        "content_hash": policy.content_hash,
        "updated_at_ms": policy.updated_at_ms,
    }
    upsert(connection, retry_policies, [values])


def policy(connection: Connection, name: str) -> StoredPolicy | None:
    """One policy; None if there is none of that name."""
    row = connection.execute(select(retry_policies).where(retry_policies.c.name == name)).one_or_none()
    return None if row is None else _policy_of(row)


def policies(connection: Connection) -> list[StoredPolicy]:
    """All policies, in order of name."""
    return [_policy_of(row) for row in connection.execute(select(retry_policies).order_by(retry_policies.c.name))]


def missing_policies(connection: Connection, names: Sequence[str]) -> list[str]:
    """Those of these names that no policy has, in the order given."""
    found = connection.execute(select(retry_policies.c.name).where(retry_policies.c.name.in_(names))).scalars().all()
    return [name for name in names if name not in found]


def queues_with(connection: Connection, name: str, limit: int) -> list[str]:
    """The first queues, in order of name, that a policy is attached to."""
    query = select(queue_retry_policies.c.queue).where(queue_retry_policies.c.policy == name)
    return list(connection.execute(query.distinct().order_by(queue_retry_policies.c.queue).limit(limit)).scalars())


def delete_policy(connection: Connection, name: str) -> bool:
    """Remove a policy; False if there was none. The database refuses one that is attached."""
    return connection.execute(delete(retry_policies).where(retry_policies.c.name == name)).rowcount > 0


def put_queue(connection: Connection, queue: Queue, now_ms: int) -> None:
    """Store a queue whole; one of the same name is replaced, its attached policies too."""
    values: Values = {
        "name": queue.name,
        "priority_factor": queue.priority_factor,
        "cordoned": queue.cordoned,
        "document": to_json(queue),
        "updated_at_ms": now_ms,
    }
    upsert(connection, queues, [values])
    connection.execute(delete(queue_retry_policies).where(queue_retry_policies.c.queue == queue.name))
    attached = enumerate(queue.retry_policies)
    rows: list[Values] = [{"queue": queue.name, "ordinal": i, "policy": name} for i, name in attached]
    append(connection, queue_retry_policies, rows)


def queue(connection: Connection, name: str) -> Queue | None:
    """One queue; None if there is none of that name."""
    found = _queues(connection, queues.c.name == name)
    return found[0] if found else None


def all_queues(connection: Connection) -> list[Queue]:
    """All queues, in order of name."""
    return _queues(connection)


def delete_queue(connection: Connection, name: str) -> bool:
    """Remove a queue and its attachments; False if there was none."""
    return connection.execute(delete(queues).where(queues.c.name == name)).rowcount > 0


def _queues(connection: Connection, *conditions: ColumnElement[bool]) -> list[Queue]:
    query = select(queues.c.name, queues.c.document).where(*conditions).order_by(queues.c.name)
    return [_queue.decode(row.document) for row in connection.execute(query)]


def _policy_of(row: AnyRow) -> StoredPolicy:
    return StoredPolicy(row.name, _object.decode(row.document), row.content_hash, row.updated_at_ms)

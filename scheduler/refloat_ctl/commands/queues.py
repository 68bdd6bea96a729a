"""`create|update|get|delete queue` and `get queues`."""

from refloat_common.core.jsontypes import JsonObject, JsonValue
from refloat_ctl.adapters.server.queues import QueueApi
from refloat_ctl.commands.session import Session
from refloat_ctl.core.errors import FileError
from refloat_ctl.core.resources.envelope import QUEUE
from refloat_ctl.core.resources.fields import FieldError
from refloat_ctl.core.resources.queues import (
    QueueChanges,
    QueueFilter,
    changed_queue,
    new_queue,
    read_queue,
    tidied,
)
from refloat_ctl.core.views import queue_table


def create(session: Session) -> None:
    """Create a queue from flags, or replace the one of its name."""
    put(session, new_queue(session.options.name, _changes(session)), creating=True)


def update(session: Session) -> None:
    """Change what the flags name and keep the rest; with `--replace`, reset the rest as armadactl does."""
    name = session.options.name
    changes = _changes(session)
    if session.options.replace:
        put(session, new_queue(name, changes), creating=False)
        return
    remedies = {"NOT_FOUND": f"create it with: refloatctl create queue {name}"}
    with session.server(f"updating queue {name}", remedies) as channel:
        api = QueueApi(channel)
        api.update(changed_queue(api.get(name), changes))
    session.say(f"Updated queue {name}\n")


def queue_in(file: str, value: JsonValue) -> JsonObject:
    """The queue of a file's value.

    Raises:
        FileError: it holds no queue.
    """
    try:
        return read_queue(value)
    except FieldError as error:
        raise FileError(file, error.problem, error.path) from None


def put(session: Session, queue: JsonObject, *, creating: bool) -> None:
    """Send a whole queue to the server."""
    name = queue.get("name", "")
    doing, done = ("creating", "Created") if creating else ("updating", "Updated")
    with session.server(f"{doing} queue {name}") as channel:
        api = QueueApi(channel)
        if creating:
            api.create(queue)
        else:
            api.update(queue)
    session.say(f"{done} queue {name}\n")


def get(session: Session) -> None:
    """Show one queue."""
    name = session.options.name
    remedies = {"NOT_FOUND": "see what there is with: refloatctl get queues"}
    with session.server(f"getting queue {name}", remedies) as channel:
        queue = _tidied(QueueApi(channel).get(name))
    session.show(QUEUE, queue, queue_table([queue]))


def get_all(session: Session) -> None:
    """Show the queues that are asked for."""
    options = session.options
    wanted = QueueFilter(
        names=options.names, labels=options.labels, inverse=options.inverse, only_cordoned=options.only_cordoned
    )
    with session.server("getting queues") as channel:
        queues = [_tidied(queue) for queue in QueueApi(channel).list() if wanted.takes(queue)]
    session.show(QUEUE, {"queues": queues}, queue_table(queues))


def delete(session: Session) -> None:
    """Delete a queue that has no unfinished jobs."""
    name = session.options.name
    with session.server(f"deleting queue {name}") as channel:
        QueueApi(channel).delete(name)
    session.say(f"Deleted queue {name} (or it did not exist)\n")


def _changes(session: Session) -> QueueChanges:
    options = session.options
    return QueueChanges(
        priority_factor=options.priority_factor,
        user_owners=options.owners,
        group_owners=options.group_owners,
        cordoned=options.cordon,
        labels=options.labels,
        retry_policies=options.retry_policies,
    )


def _tidied(queue: JsonObject) -> JsonObject:
    return {key: tidied(value) for key, value in queue.items()}

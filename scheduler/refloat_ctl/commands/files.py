"""`create -f FILE` and `update -f FILE`: whatever the file says it is."""

from refloat_ctl.adapters.files import read_value
from refloat_ctl.commands import policies, queues
from refloat_ctl.commands.session import Session
from refloat_ctl.core.errors import FileError
from refloat_ctl.core.resources.envelope import KINDS, QUEUE, RETRY_POLICY, head_of
from refloat_ctl.core.resources.fields import FieldError


def create(session: Session) -> None:
    """Create what is in the file."""
    _put(session, creating=True)


def update(session: Session) -> None:
    """Replace what is there by what is in the file."""
    _put(session, creating=False)


def _put(session: Session, *, creating: bool) -> None:
    file = session.options.file
    value = read_value(file)
    try:
        _, kind = head_of(value)
    except FieldError as error:
        raise FileError(file, error.problem, error.path) from None
    match kind:
        case k if k == QUEUE:
            queue = queues.queue_in(file, value)
            if not session.options.dry_run:
                queues.put(session, queue, creating=creating)
        case k if k == RETRY_POLICY:
            policy = policies.policy_in(file, value)
            if not session.options.dry_run:
                policies.put(session, policy, creating=creating)
        case _:
            raise FileError(file, f"is required; valid: {', '.join(KINDS)}", "kind")

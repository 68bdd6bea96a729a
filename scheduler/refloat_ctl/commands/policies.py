"""`create|update|get|delete retry-policy` and `get retry-policies`."""

from collections.abc import Callable

from refloat_common.core.jsontypes import JsonValue
from refloat_ctl.adapters.files import read_value
from refloat_ctl.adapters.server.policies import PolicyApi
from refloat_ctl.commands.session import Session
from refloat_ctl.core.errors import FileError
from refloat_ctl.core.resources.envelope import RETRY_POLICY
from refloat_ctl.core.resources.fields import FieldError
from refloat_ctl.core.resources.policies import read_policy
from refloat_ctl.core.views import policy_table
from refloat_scheduler.core.policies.document import PolicyBody, encode


def create(session: Session) -> None:
    """Create a policy from a file, or replace the one of its name."""
    put(session, policy_in(session.options.file, read_value(session.options.file)), creating=True)


def update(session: Session) -> None:
    """Replace a policy by a file."""
    put(session, policy_in(session.options.file, read_value(session.options.file)), creating=False)


def policy_in(file: str, value: JsonValue) -> PolicyBody:
    """The policy of a file's value.

    Raises:
        FileError: it holds no retry policy.
    """
    try:
        return read_policy(value)
    except FieldError as error:
        raise FileError(file, error.problem, error.path) from None


def put(session: Session, policy: PolicyBody, *, creating: bool) -> None:
    """Send a policy to the server."""
    doing, done = ("creating", "Created") if creating else ("updating", "Updated")
    remedies = {"NOT_FOUND": f"create it with: refloatctl create retry-policy -f {session.options.file}"}
    with session.server(f"{doing} retry policy {policy.name}", remedies) as channel:
        api = PolicyApi(channel)
        send: Callable[[PolicyBody], None] = api.create if creating else api.update
        send(policy)
    session.say(f"{done} retry policy {policy.name}\n")


def get(session: Session) -> None:
    """Show one policy."""
    name = session.options.name
    remedies = {"NOT_FOUND": "see what there is with: refloatctl get retry-policies"}
    with session.server(f"getting retry policy {name}", remedies) as channel:
        policy = PolicyApi(channel).get(name)
    session.show(RETRY_POLICY, encode(policy), policy_table([policy]))


def get_all(session: Session) -> None:
    """Show all policies."""
    with session.server("getting retry policies") as channel:
        policies = PolicyApi(channel).list()
    body = {"retryPolicies": [encode(policy) for policy in policies]}
    session.show(RETRY_POLICY, body, policy_table(policies))


def delete(session: Session) -> None:
    """Delete a policy that no queue references."""
    name = session.options.name
    remedies = {"FAILED_PRECONDITION": "as in: refloatctl update queue QUEUE --retry-policies ''"}
    with session.server(f"deleting retry policy {name}", remedies) as channel:
        PolicyApi(channel).delete(name)
    session.say(f"Deleted retry policy {name} (or it did not exist)\n")

"""`get executors` and `executor cordon|uncordon|expire|release|decommission NAME`."""

from typing import Final

from refloat_common.core.admin import ExecutorOrder
from refloat_ctl.adapters.server.admin import AdminApi
from refloat_ctl.commands.session import Session
from refloat_ctl.core.views import executor_table

_DONE: Final = {
    "cordon": "Cordoned executor {}",
    "uncordon": "Uncordoned executor {}",
    "expire": "Expired executor {}: its runs are given verdicts now",
    "release": "Released executor {}: self-preservation no longer holds its runs back",
    "decommission": "Decommissioned executor {}: it is not waited for any more",
}


def get_all(session: Session) -> None:
    """Show how the lease of each executor stands."""
    with session.server("getting executors") as channel:
        executors = AdminApi(channel).executors().executors
    session.show_report(executors, executor_table(executors))


def operate(session: Session) -> None:
    """Carry out an order about an executor."""
    name, action = session.options.name, session.options.action
    remedies = {"NOT_FOUND": "see what there is with: refloatctl get executors"}
    with session.server(f"carrying out {action} for executor {name}", remedies) as channel:
        AdminApi(channel).operate(ExecutorOrder(executor=name, action=action))
    session.say(_DONE[action].format(name) + "\n")

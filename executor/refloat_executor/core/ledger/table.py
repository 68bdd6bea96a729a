"""The ledger's table: what each news means in each state. A pair that is in neither part is an error of ours.

`HANDLED` has the pairs that do something. `IGNORED` has those that can come and mean nothing: answers to a request
that a newer one has overtaken, and observations that change nothing any more.
"""

from collections.abc import Callable
from typing import TypeVar

from refloat_executor.core.ledger.handlers import ended, removing, running, starting
from refloat_executor.core.ledger.handlers.step import Context, Handler, Step, stay
from refloat_executor.core.ledger.values.entry import Entry, State
from refloat_executor.core.ledger.values.news import (
    Acknowledged,
    Confirmed,
    CreateForbidden,
    CreateImpossible,
    CreateRefused,
    DeleteAccepted,
    DeleteRefused,
    Due,
    EventsRead,
    KillOrdered,
    NameFreed,
    News,
    PodCreated,
    PodFailed,
    PodListed,
    PodPending,
    PodRead,
    PodRunning,
    PodSucceeded,
    PodUnseen,
    ReadFailed,
    StrayFound,
    Unwanted,
)

N = TypeVar("N", bound=News)
Row = tuple[type[object], Handler]


def _on(kind: type[N], handler: Callable[[Entry, N, Context], Step]) -> Row:
    """One row, its handler seeing the news as the kind that the row is about."""

    def handle(entry: Entry, news: News, context: Context) -> Step:
        assert isinstance(news, kind)
        return handler(entry, news, context)

    return kind, handle


def _seen_again(handler: Callable[[Entry, N, Context], Step]) -> Callable[[Entry, N, Context], Step]:
    """The same for a pod that was missed and is shown again."""
    return lambda entry, news, context: handler(running.seen_again(entry), news, context)


REMOVAL: tuple[Row, ...] = (
    _on(DeleteAccepted, removing.delete_accepted),
    _on(DeleteRefused, removing.delete_refused),
    _on(PodRead, removing.removal_read),
    _on(PodListed, removing.removal_listed),
    _on(ReadFailed, removing.removal_unread),
    _on(PodUnseen, removing.removal_prompted),
    _on(Due, removing.removal_due),
)
"""The same in every state in which a pod is being removed."""

KEPT: tuple[Row, ...] = (
    _on(PodUnseen, ended.unseen),
    _on(PodRead, ended.kept_read),
    _on(PodListed, ended.kept_listed),
    _on(ReadFailed, ended.kept_unread),
    _on(Unwanted, ended.unwanted),
    _on(StrayFound, ended.stray),
    _on(Due, ended.kept_due),
)
"""The same for every run that has ended with its pod still there."""

HANDLED: dict[State, dict[type[object], Handler]] = {
    State.ACCEPTED: dict((
        _on(Confirmed, starting.confirmed),
        _on(KillOrdered, starting.killed_unborn),
    )),
    State.WAITING: dict((
        _on(NameFreed, starting.name_freed),
        _on(KillOrdered, starting.killed_unborn),
        _on(Due, starting.waited_long),
    )),
    State.CREATING: dict((
        _on(Confirmed, starting.confirmed_again),
        _on(PodCreated, starting.created),
        _on(CreateRefused, starting.create_refused),
        _on(CreateForbidden, starting.create_forbidden),
        _on(CreateImpossible, starting.create_impossible),
        _on(PodRead, starting.name_read),
        _on(ReadFailed, starting.name_unread),
        _on(KillOrdered, starting.kill_creating),
        _on(Due, starting.create_due),
    )),
    State.ACTIVE: dict((
        _on(PodPending, running.pending),
        _on(PodRunning, running.running),
        _on(PodSucceeded, running.succeeded),
        _on(PodFailed, running.failed),
        _on(PodUnseen, running.unseen),
        _on(PodRead, running.active_read),
        _on(KillOrdered, running.kill),
        _on(Due, running.look_again),
    )),
    State.HELD: dict((
        _on(PodFailed, running.failed_still),
        _on(EventsRead, running.events_read),
        _on(PodUnseen, running.unseen_held),
        _on(KillOrdered, running.kill),
        _on(Due, running.hold_over),
    )),
    State.VANISHED: dict((
        _on(PodPending, _seen_again(running.pending)),
        _on(PodRunning, _seen_again(running.running)),
        _on(PodSucceeded, _seen_again(running.succeeded)),
        _on(PodFailed, _seen_again(running.failed)),
        _on(PodRead, running.vanished_read),
        _on(PodListed, running.vanished_listed),
        _on(ReadFailed, running.vanished_unread),
        _on(KillOrdered, running.kill),
        _on(Due, running.vanished_due),
    )),
    State.CLASSIFIED: dict(REMOVAL),
    State.DELETING: dict(REMOVAL),
    State.STUCK: dict((*REMOVAL, _on(Acknowledged, ended.acked_stuck))),
    State.KILLING: dict((
        *REMOVAL,
        _on(PodSucceeded, removing.ended_while_killed),
        _on(PodFailed, removing.ended_while_killed),
    )),
    State.REPORTED: dict((*KEPT, _on(Acknowledged, ended.acked))),
    State.MARKED: dict(KEPT),
    State.RETIRING: dict((*REMOVAL, _on(Acknowledged, ended.acked_removing))),
}  # fmt: skip
"""What does something."""

_PHASES: frozenset[type[News]] = frozenset({PodPending, PodRunning, PodSucceeded, PodFailed})
_ANSWERS: frozenset[type[News]] = frozenset({PodRead, PodListed, ReadFailed, DeleteAccepted, DeleteRefused, EventsRead})
_ANYTIME: frozenset[type[News]] = frozenset({Confirmed, KillOrdered, NameFreed, Unwanted, StrayFound, PodUnseen})
_SEEN = _PHASES | _ANSWERS | _ANYTIME

IGNORED: dict[State, frozenset[type[News]]] = {
    State.ACCEPTED: _PHASES | _ANYTIME,
    State.WAITING: _PHASES | _ANYTIME,
    State.CREATING: _PHASES | _ANYTIME,
    State.ACTIVE: _SEEN,
    State.HELD: _SEEN,
    State.VANISHED: _SEEN,
    State.CLASSIFIED: _SEEN,
    State.DELETING: _SEEN,
    State.STUCK: _SEEN,
    State.KILLING: _SEEN,
    State.REPORTED: _SEEN,
    State.MARKED: _SEEN,
    State.RETIRING: _SEEN,
}
"""What means nothing, where `HANDLED` has no row for it."""


class UnexpectedNewsError(Exception):
    """News that can't come in this state: an error of ours."""

    def __init__(self, entry: Entry, news: News) -> None:
        super().__init__(f"run {entry.run} is {entry.state.value}: {type(news).__name__} cannot come")


def step(entry: Entry, news: News, context: Context) -> Step:
    """What follows from the news for this run.

    Raises:
        UnexpectedNewsError: the table has no row for the pair.
    """
    handler = HANDLED[entry.state].get(type(news))
    if handler is not None:
        return handler(entry, news, context)
    if type(news) in IGNORED[entry.state]:
        return stay(entry, news, context)
    raise UnexpectedNewsError(entry, news)

"""The table is whole: every pair of state and news does something, means nothing, or can't come."""

import pytest

from refloat_executor.core.ledger.table import HANDLED, IGNORED, UnexpectedNewsError, step
from refloat_executor.core.ledger.values.entry import State
from refloat_executor.core.ledger.values.news import (
    ALL_NEWS,
    Acknowledged,
    Confirmed,
    CreateForbidden,
    CreateImpossible,
    CreateRefused,
    DeleteAccepted,
    DeleteRefused,
    Due,
    EventsRead,
    PodCreated,
    PodListed,
    PodRead,
    ReadFailed,
)
from testkit.executor.ledger import context, entry

_OF_A_CREATE = {PodCreated, CreateRefused, CreateForbidden, CreateImpossible}
_OF_REQUESTS = {PodRead, PodListed, ReadFailed, DeleteAccepted, DeleteRefused, EventsRead}
_UNBORN = {State.ACCEPTED, State.WAITING, State.CREATING}
_UNFINISHED = set(State) - {State.STUCK, State.REPORTED, State.RETIRING}


def can_not_come(state: State, news: type[object]) -> bool:
    """What no order of events can bring."""
    if news in _OF_A_CREATE:
        return state is not State.CREATING
    if news is Acknowledged:
        return state in _UNFINISHED
    if news is Due:
        return state is State.ACCEPTED
    if news in _OF_REQUESTS:
        return state in _UNBORN and not (state is State.CREATING and news in (PodRead, ReadFailed))
    return False


PAIRS = [(state, news) for state in State for news in ALL_NEWS]


@pytest.mark.parametrize(
    ("state", "news"),
    PAIRS,
    ids=lambda value: getattr(value, "value", value.__name__ if isinstance(value, type) else None),
)
def test_every_pair_is_thought_of(state: State, news: type[object]) -> None:
    thought_of = news in HANDLED[state] or news in IGNORED[state]
    assert thought_of is not can_not_come(state, news)


def test_what_can_not_come_is_an_error_that_names_it() -> None:
    with pytest.raises(UnexpectedNewsError, match=r"^run r1 is active: Acknowledged cannot come$"):
        step(entry(State.ACTIVE), Acknowledged(), context())


def test_what_means_nothing_changes_nothing() -> None:
    before = entry(State.ACTIVE)
    done = step(before, Confirmed(), context())
    assert (done.entry, done.records, done.effects, done.frees) == (before, (), (), None)

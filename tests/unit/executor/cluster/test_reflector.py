"""What the reflector asks next, whatever the API does."""

from dataclasses import dataclass

import pytest

from refloat_common.core.pods import ObjectMeta, Pod
from refloat_executor.core.backoff import backoff_s
from refloat_executor.core.cluster import reflector
from refloat_executor.core.cluster.answers import Denied, Expired, Silent
from refloat_executor.core.cluster.reflector import (
    Apply,
    Effect,
    EventsArrived,
    FetchPage,
    Mode,
    News,
    OpenWatch,
    PageArrived,
    Reflector,
    Refused,
    Replace,
    Unreadable,
    WatchClosed,
)
from refloat_executor.core.cluster.wire import Page, PageMeta, Status, WatchEvent

NOW_S, DICE = 100.0, 0.5
WATCHING: Reflector[Pod] = Reflector(mode=Mode.WATCHING, version="40", opened_s=90.0, quiet=False)
JUST_OPENED: Reflector[Pod] = Reflector(mode=Mode.WATCHING, version="40", opened_s=99.9, quiet=True)
FIRST_PAUSE_S = backoff_s(1, DICE)


def pod(name: str, version: str = "1") -> Pod:
    return Pod(ObjectMeta(name=name, resource_version=version))


def page(*pods: Pod, version: str = "", token: str = "") -> PageArrived[Pod]:
    return PageArrived(Page(items=list(pods), metadata=PageMeta(version, token)))


def event(kind: str, version: str) -> WatchEvent[Pod]:
    return WatchEvent(kind, pod("a", version))


def step(state: Reflector[Pod], news: News[Pod]) -> tuple[Reflector[Pod], tuple[Effect[Pod], ...]]:
    return reflector.step(state, news, NOW_S, DICE)


def test_pages_are_collected_and_then_watched_from_the_lists_version() -> None:
    state, asked = step(Reflector(), page(pod("a"), token="next"))
    assert asked == (FetchPage("next"),)
    state, asked = step(state, page(pod("b"), version="40"))
    assert asked == (Replace((pod("a"), pod("b"))), OpenWatch("40", 300.0))
    assert state == Reflector(mode=Mode.WATCHING, version="40", opened_s=NOW_S)


def test_an_empty_list_replaces_everything() -> None:
    _, asked = step(Reflector(), PageArrived(Page(items=None, metadata=PageMeta("7"))))
    assert asked == (Replace(()), OpenWatch("7", 300.0))


@dataclass(frozen=True)
class Case:
    """One thing that happens to an open watch, and what is asked for it."""

    news: News[Pod]
    asked: tuple[Effect[Pod], ...]
    version: str = "40"
    failures: int = 0


CASES = {
    "changes are applied": Case(
        EventsArrived([event("ADDED", "41"), event("DELETED", "42")]),
        (Apply([event("ADDED", "41"), event("DELETED", "42")]),),
        version="42",
    ),
    "a bookmark moves the version only": Case(EventsArrived([event("BOOKMARK", "50")]), (), version="50"),
    "a bookmark among changes": Case(
        EventsArrived([event("MODIFIED", "41"), event("BOOKMARK", "50")]),
        (Apply([event("MODIFIED", "41")]),),
        version="50",
    ),
    "an error event lists again": Case(
        EventsArrived([Status(code=410)]), (FetchPage(pause_s=FIRST_PAUSE_S),), failures=1
    ),
    "what came before an error still counts": Case(
        EventsArrived([event("ADDED", "41"), Status(code=500)]),
        (Apply([event("ADDED", "41")]), FetchPage(pause_s=FIRST_PAUSE_S)),
        version="41",
        failures=1,
    ),
    "an event of no known type lists again": Case(
        EventsArrived([event("SOMETHING", "41")]), (FetchPage(pause_s=FIRST_PAUSE_S),), failures=1
    ),
    "text that can't be read lists again": Case(Unreadable(), (FetchPage(pause_s=FIRST_PAUSE_S),), failures=1),
    "a watch that ends by itself is opened again at once": Case(WatchClosed(cut=False), (OpenWatch("40", 300.0),)),
    "a cut watch is opened again after a pause": Case(
        WatchClosed(cut=True), (OpenWatch("40", 300.0, FIRST_PAUSE_S),), failures=1
    ),
    "a version that is too old lists again": Case(Refused(Expired()), (FetchPage(pause_s=FIRST_PAUSE_S),), failures=1),
    "a watch that is refused is tried again": Case(
        Refused(Denied(403, "Forbidden", "no")), (OpenWatch("40", 300.0, FIRST_PAUSE_S),), failures=1
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_open_watch(case: Case) -> None:
    state, asked = step(WATCHING, case.news)
    assert asked == case.asked
    assert (state.version, state.failures) == (case.version, case.failures)


def test_a_server_that_closes_at_once_is_asked_more_and_more_slowly() -> None:
    state, pauses = JUST_OPENED, []
    for _ in range(4):
        state, asked = step(state, WatchClosed(cut=False))
        assert isinstance(asked[-1], OpenWatch)
        pauses.append(asked[-1].pause_s)
    assert pauses == pytest.approx([0.15, 0.25, 0.45, 0.85])


def test_a_watch_that_lasted_forgives_what_was_before() -> None:
    state, asked = reflector.step(JUST_OPENED, WatchClosed(cut=False), 102.0, DICE)
    assert (asked, state.failures) == ((OpenWatch("40", 300.0),), 0)


def test_a_list_that_is_refused_is_begun_anew_without_its_token() -> None:
    state, _ = step(Reflector(), page(pod("a"), token="next"))
    state, asked = step(state, Refused(Expired()))
    assert asked == (FetchPage(pause_s=FIRST_PAUSE_S),)
    assert state.items == ()


def test_a_list_older_than_what_was_seen_is_not_believed_until_it_is_told_often() -> None:
    state, _ = step(WATCHING, Refused(Expired()))
    for _ in range(reflector.MAX_STALE_LISTS):
        state, asked = step(state, page(pod("a"), version="39"))
        assert isinstance(asked[0], FetchPage)
    _, asked = step(state, page(pod("a"), version="39"))
    assert asked == (Replace((pod("a"),)), OpenWatch("39", 300.0))


def test_versions_that_are_no_numbers_are_not_compared() -> None:
    state, _ = step(Reflector(mode=Mode.WATCHING, version="abc"), Refused(Silent("x")))
    assert state.mode is Mode.WATCHING
    _, asked = step(Reflector(version="abc"), page(version="7"))
    assert asked == (Replace(()), OpenWatch("7", 300.0))


@pytest.mark.parametrize("dice", [0.0, 0.3, 0.999])
def test_watches_end_at_different_times(dice: float) -> None:
    _, asked = reflector.step(Reflector(), page(version="1"), NOW_S, dice)
    assert isinstance(asked[-1], OpenWatch)
    assert 240 <= asked[-1].timeout_s < 360
    assert asked[-1].timeout_s == pytest.approx(240 + dice * 120)

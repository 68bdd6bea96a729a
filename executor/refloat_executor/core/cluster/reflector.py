"""Decides what to ask of the API next, so that a store follows one kind of object without ever missing a change.

    list (pages of 500, no resourceVersion: a consistent read) → watch from the list's version, with bookmarks
        watch ends by itself        → watch again from the last version seen
        connection cut, refused     → the same after a jittered pause
        410, ERROR, unreadable text → list again after a jittered pause; the new list *replaces* what is known

A replaced list is compared with the store by whoever holds it, so that a change or deletion that fell into a gap is
still seen. Versions are opaque but for one check: a list must not be older than what was already seen, because a
lagging server must not take back what happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeAlias, TypeGuard, TypeVar

import msgspec
from msgspec.structs import replace

from refloat_common.core.pods import Node, Pod
from refloat_executor.core.backoff import backoff_s
from refloat_executor.core.cluster.answers import Expired, Refusal
from refloat_executor.core.cluster.wire import BOOKMARK, CHANGE_TYPES, Page, Status, WatchEvent

T = TypeVar("T", Pod, Node)

PAGE_LIMIT = 500
WATCH_SHORTEST_S, WATCH_LONGEST_S = 240.0, 360.0
"""A server closes a watch after the asked time; jittered, so that executors don't all come back at once."""
LONGEST_PAUSE_S = 30.0
SETTLED_AFTER_S = 1.0
"""A watch that lasted this long, or brought anything, was a good one; a server that closes at once is not."""
MAX_STALE_LISTS = 3
"""So many lists older than what was seen are refused; then the cluster itself has gone back (a restored etcd)."""


class Mode(Enum):
    """What the reflector waits for."""

    LISTING = "listing"
    WATCHING = "watching"


class Reflector(msgspec.Struct, Generic[T], frozen=True):
    """Where one reflector stands. `failures` counts those in a row; `items` are the pages of a list so far."""

    mode: Mode = Mode.LISTING
    token: str = ""
    items: tuple[T, ...] = ()
    version: str = ""
    failures: int = 0
    stale_lists: int = 0
    opened_s: float = 0.0
    quiet: bool = True


@dataclass(frozen=True, slots=True)
class PageArrived(Generic[T]):
    """One page of the list that was asked for."""

    page: Page[T]


@dataclass(frozen=True, slots=True)
class EventsArrived(Generic[T]):
    """Lines of the open watch, decoded; a Status is an ERROR event."""

    events: Sequence[WatchEvent[T] | Status]


@dataclass(frozen=True, slots=True)
class Refused:
    """A page or a watch was not granted."""

    answer: Refusal


@dataclass(frozen=True, slots=True)
class WatchClosed:
    """The watch ended; `cut` if the connection broke rather than being closed."""

    cut: bool


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A page or a watch line could not be decoded, so something may have been missed."""


News: TypeAlias = PageArrived[T] | EventsArrived[T] | Refused | WatchClosed | Unreadable


@dataclass(frozen=True, slots=True)
class FetchPage:
    """Ask for the next page, after `pause_s`. An empty token asks for a new list."""

    token: str = ""
    pause_s: float = 0.0
    limit: int = PAGE_LIMIT


@dataclass(frozen=True, slots=True)
class OpenWatch:
    """Watch from `version`, after `pause_s`, for at most `timeout_s` seconds."""

    version: str
    timeout_s: float
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Replace(Generic[T]):
    """These are all objects there are, as of one version: whatever else is known is gone or was never there."""

    items: tuple[T, ...]


@dataclass(frozen=True, slots=True)
class Apply(Generic[T]):
    """These changed, in this order."""

    events: Sequence[WatchEvent[T]]


Effect: TypeAlias = FetchPage | OpenWatch | Replace[T] | Apply[T]
Step: TypeAlias = tuple[Reflector[T], tuple[Effect[T], ...]]


def step(state: Reflector[T], news: News[T], now_s: float, dice: float) -> Step[T]:
    """What follows from `news`. `dice` is a random number in [0, 1).

    A `FetchPage` or `OpenWatch` among the effects comes last and ends whatever watch was open.
    """
    match news:
        case EventsArrived(events):
            return _events(state, events, dice)
        case PageArrived(page):
            return _page(state, page, now_s, dice)
        case WatchClosed(cut):
            return _closed(state, cut=cut, now_s=now_s, dice=dice)
        case Refused(answer):
            return _refused(state, answer, now_s, dice)
        case Unreadable():
            return _relist(state, dice)


def _page(state: Reflector[T], page: Page[T], now_s: float, dice: float) -> Step[T]:
    items = (*state.items, *(page.items or ()))
    if page.metadata.continue_:
        return replace(state, items=items, token=page.metadata.continue_), (FetchPage(page.metadata.continue_),)
    version = page.metadata.resource_version
    if _older(version, state.version) and state.stale_lists < MAX_STALE_LISTS:
        return _relist(replace(state, stale_lists=state.stale_lists + 1), dice)
    fresh = replace(state, items=(), token="", version=version, stale_lists=0)
    watching, ask = _watch(fresh, now_s, dice)
    return watching, (Replace(items), ask)


def _events(state: Reflector[T], events: Sequence[WatchEvent[T] | Status], dice: float) -> Step[T]:
    changes, version, broken = _changes(state.version, events)
    applied: tuple[Effect[T], ...] = (Apply(changes),) if changes else ()
    quiet = state.quiet and not changes and version == state.version
    after = replace(state, version=version, quiet=quiet, failures=state.failures if quiet else 0)
    if not broken:
        return after, applied
    again, ask = _relist(after, dice)
    return again, applied + ask


def _changes(version: str, events: Sequence[WatchEvent[T] | Status]) -> tuple[Sequence[WatchEvent[T]], str, bool]:
    """The changes among the events, the version after them, and whether an ERROR ended them."""
    if _only_changes(events):
        return events, events[-1].object.metadata.resource_version or version, False
    changes: list[WatchEvent[T]] = []
    for event in events:
        if isinstance(event, Status) or (event.type not in CHANGE_TYPES and event.type != BOOKMARK):
            return changes, version, True
        version = event.object.metadata.resource_version or version
        if event.type != BOOKMARK:
            changes.append(event)
    return changes, version, False


def _only_changes(events: Sequence[WatchEvent[T] | Status]) -> TypeGuard[Sequence[WatchEvent[T]]]:
    """Whether there is neither a bookmark nor an error among them: nearly always so."""
    return bool(events) and {event.type for event in events} <= CHANGE_TYPES


def _closed(state: Reflector[T], *, cut: bool, now_s: float, dice: float) -> Step[T]:
    good = not state.quiet or now_s - state.opened_s >= SETTLED_AFTER_S
    if good and not cut:
        state, ask = _watch(replace(state, failures=0), now_s, dice)
        return state, (ask,)
    failures = 1 if good else state.failures + 1
    return _watch_later(replace(state, failures=failures), now_s, dice)


def _refused(state: Reflector[T], answer: Refusal, now_s: float, dice: float) -> Step[T]:
    if state.mode is Mode.LISTING or isinstance(answer, Expired):
        return _relist(state, dice)
    return _watch_later(replace(state, failures=state.failures + 1), now_s, dice)


def _relist(state: Reflector[T], dice: float) -> Step[T]:
    failures = state.failures + 1
    again = replace(state, mode=Mode.LISTING, token="", items=(), failures=failures)
    return again, (FetchPage(pause_s=backoff_s(failures, dice, longest_s=LONGEST_PAUSE_S)),)


def _watch_later(state: Reflector[T], now_s: float, dice: float) -> Step[T]:
    state, ask = _watch(state, now_s, dice)
    pause_s = backoff_s(state.failures, dice, longest_s=LONGEST_PAUSE_S)
    return replace(state, opened_s=now_s + pause_s), (OpenWatch(ask.version, ask.timeout_s, pause_s),)


def _watch(state: Reflector[T], now_s: float, dice: float) -> tuple[Reflector[T], OpenWatch]:
    timeout_s = WATCH_SHORTEST_S + dice * (WATCH_LONGEST_S - WATCH_SHORTEST_S)
    return replace(state, mode=Mode.WATCHING, opened_s=now_s, quiet=True), OpenWatch(state.version, timeout_s)


def _older(version: str, seen: str) -> bool:
    return version.isdecimal() and seen.isdecimal() and int(version) < int(seen)

"""Answers `list` page by page and opens watches, at the versions that were asked for.

Sources: `k8s.io/apiserver/pkg/storage/cacher` (which version a read is served at), `.../storage/continue.go` (tokens),
`k8s.io/apimachinery/pkg/apis/meta/internalversion/validation` (which options go together).
"""

import base64
import binascii
from dataclasses import dataclass

from refloat_fakekube.core.kinds import causes
from refloat_fakekube.core.objects import Json, NotAnObjectError, decode, encode, number, text
from refloat_fakekube.core.refusals import BadRequestError, Cause, ExpiredError, InvalidError, TooNewError
from refloat_fakekube.core.store.answers import Page
from refloat_fakekube.core.store.records import Change, Stored
from refloat_fakekube.core.store.requests import List, Target, Watch
from refloat_fakekube.core.store.state import State

_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_LATEST = -1
_MATCHES = ("Exact", "NotOlderThan")


def list_page(state: State, request: List) -> Page:
    """One page of a collection.

    Raises:
        RefusalError: the options don't go together, or the version is too old or in the future.
    """
    _refuse(_check_list(request))
    start, version, exact = "", _version(request.version), request.match == "Exact"
    if request.next_page:
        start, version = _read_token(request.next_page)
        exact = version > 0
    elif request.limit and version > 0 and request.match != "NotOlderThan":
        exact = True
    if version > state.version:
        raise TooNewError(version, state.version)
    if not exact:
        version = state.version
    elif version < state.table(request.target.resource).compacted:
        if request.next_page:
            raise ExpiredError(_INCONSISTENT, next_page=_token(start, _LATEST))
        raise ExpiredError(f"too old resource version: {version}")
    return _page(state, request, start, version)


def _page(state: State, request: List, start: str, version: int) -> Page:
    items: list[Stored] = []
    more: Stored | None = None
    remaining = 0
    for stored in state.read(request.target, start, version):
        if not stored.picked_by(request.selector):
            continue
        if request.limit and len(items) >= request.limit:
            more = more or stored
            remaining += 1
        else:
            items.append(stored)
    if more is None:
        return Page(tuple(items), version)
    told = remaining if request.selector.everything else None
    return Page(tuple(items), version, _token(f"{items[-1].key}\0", version), told)


def _version(value: str) -> int:
    if not value:
        return 0
    if not value.isascii() or not value.isdigit():
        wrong = causes.invalid("resourceVersion", value, f'strconv.ParseUint: parsing "{value}": invalid syntax')
        raise BadRequestError(f"invalid resource version: {wrong.words()}")
    return int(value)


def _token(start: str, version: int) -> str:
    body: Json = {"v": "meta.k8s.io/v1", "rv": version, "start": start}
    return base64.urlsafe_b64encode(encode(body)).decode().rstrip("=")


def _read_token(token: str) -> tuple[str, int]:
    try:
        body = decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError, NotAnObjectError) as error:
        raise BadRequestError(f"invalid continue token: continue key is not valid: {error}") from error
    version, start = number(body, "rv"), text(body, "start")
    if text(body, "v") != "meta.k8s.io/v1" or version is None or not start:
        raise BadRequestError(
            "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
        )
    return start, version


def _refuse(found: list[Cause]) -> None:
    if found:
        raise InvalidError("meta.k8s.io", "ListOptions", "", found)


def _check_list(request: List) -> list[Cause]:
    if not request.match:
        return []
    found, path = [], "resourceVersionMatch"
    if not request.version:
        found.append(causes.forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if request.next_page:
        found.append(causes.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    if request.match not in _MATCHES:
        found.append(causes.unsupported(path, request.match, [*_MATCHES, ""]))
    if request.match == "Exact" and request.version == "0":
        words = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        found.append(causes.forbidden(path, words))
    return found


@dataclass(frozen=True, slots=True)
class Opened:
    """A watch as it starts: objects shown as ADDED, changes missed since, and whether the initial end is marked.

    Whoever delivers sends `shown`, then a bookmark at `version` if `marked`, then `missed`, then every later change.
    """

    shown: tuple[Stored, ...]
    missed: tuple[Change, ...]
    version: int
    marked: bool


def open_watch(state: State, request: Watch) -> Opened:
    """Start a watch.

    Raises:
        ExpiredError: the version is compacted; the real server says so in an ERROR event of an HTTP 200 answer.
        RefusalError: the options don't go together, or the version lies in the future.
    """
    _refuse(_check_watch(request))
    version = _version(request.version)
    if version > state.version:
        raise TooNewError(version, state.version)
    if request.initial or (request.initial is None and version == 0):
        return Opened(_current(state, request.target, request), (), state.version, marked=bool(request.initial))
    if version == 0:
        return Opened((), (), state.version, marked=False)
    table = state.table(request.target.resource)
    if version < table.compacted:
        raise ExpiredError(f"too old resource version: {version} ({table.compacted})")
    return Opened((), tuple(table.since(version)), state.version, marked=False)


def _current(state: State, target: Target, request: Watch) -> tuple[Stored, ...]:
    return tuple(one for one in state.read(target, "", state.version) if one.picked_by(request.selector))


def _check_watch(request: Watch) -> list[Cause]:
    found, path = [], "resourceVersionMatch"
    if request.initial is not None and request.match != "NotOlderThan":
        words = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        found.append(causes.forbidden(path, words))
    if request.match:
        if request.initial is None:
            words = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            found.append(causes.forbidden(path, words))
        if request.match != "NotOlderThan":
            found.append(causes.unsupported(path, request.match, ["NotOlderThan"]))
    return found

"""The store's front: one request in, an answer and the changes out. No HTTP, no clock, no randomness.

A server feeds it from sockets; a simulation feeds it from its own network under virtual time.
"""

from typing import assert_never

from refloat_fakekube.core.objects import Json
from refloat_fakekube.core.refusals import RefusalError
from refloat_fakekube.core.resources import NAMESPACES, Resource
from refloat_fakekube.core.store.answers import Answer, Applied, Found, Ids
from refloat_fakekube.core.store.records import Change
from refloat_fakekube.core.store.requests import (
    Bind,
    Create,
    Delete,
    DeleteMany,
    Evict,
    Get,
    List,
    Patch,
    Replace,
    Request,
    Target,
    Watch,
)
from refloat_fakekube.core.store.state import State, Turn
from refloat_fakekube.core.store.tables import DEFAULT_LIMITS, HistoryLimits
from refloat_fakekube.core.store.verbs.creating import create
from refloat_fakekube.core.store.verbs.deleting import delete, delete_many, evict
from refloat_fakekube.core.store.verbs.reading import Opened, list_page, open_watch
from refloat_fakekube.core.store.verbs.replaying import NO_IDS, put_line
from refloat_fakekube.core.store.verbs.updating import bind, patch, replace

INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
"""What a new cluster has."""


class Store:
    """All objects of one cluster, and the rules by which they change."""

    def __init__(self, limits: HistoryLimits = DEFAULT_LIMITS) -> None:
        self._state = State(limits)

    @property
    def version(self) -> int:
        """The newest `resourceVersion`."""
        return self._state.version

    def apply(self, request: Request, now_s: float, ids: Ids) -> Applied:
        """Carry out one request at `now_s` (seconds since 1970); a refused one changes nothing."""
        turn = Turn(self._state, now_s, ids)
        try:
            answer = _answer(turn, request)
        except RefusalError as refusal:
            answer = refusal
        return Applied(answer, tuple(turn.changes))

    def watch(self, request: Watch) -> Opened:
        """Start a watch; from then on the watcher sees every change of the table by `Change.seen_by`.

        Raises:
            RefusalError: it can't be started.
        """
        return open_watch(self._state, request)

    def compact(self, resource: Resource | None = None) -> None:
        """Forget the past of one resource, or of all: older versions are answered with 410 from now on."""
        for table in self._state.tables.values():
            if resource is None or table.name == resource.id:
                table.compact(self._state.version)

    def replay(self, line: Json) -> tuple[Change, ...]:
        """Put the object of a watch line in as it is, unchecked, under a new version (DELETED takes it away)."""
        turn = Turn(self._state, 0.0, NO_IDS)
        put_line(turn, line)
        return tuple(turn.changes)

    def begin(self, now_s: float, ids: Ids) -> None:
        """Create the namespaces that every cluster has."""
        for name in INITIAL_NAMESPACES:
            body: Json = {"metadata": {"name": name}}
            self.apply(Create(Target(NAMESPACES), body), now_s, ids)

    def counts(self) -> dict[str, int]:
        """How many objects each resource has."""
        return {name: len(table.objects) for name, table in self._state.tables.items()}


def _answer(turn: Turn, request: Request) -> Answer:  # one case per verb
    match request:
        case Get(target):
            return Found(turn.state.get(target).data)
        case List():
            return list_page(turn.state, request)
        case Create():
            return create(turn, request)
        case Replace():
            return replace(turn, request)
        case Patch():
            return patch(turn, request)
        case Delete():
            return delete(turn, request)
        case DeleteMany():
            return delete_many(turn, request)
        case Bind():
            return bind(turn, request)
        case Evict():
            return evict(turn, request)
        case _:
            assert_never(request)

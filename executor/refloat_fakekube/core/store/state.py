"""Holds every table and the one version counter, and writes: each write is one version and one change."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from refloat_fakekube.core.kinds.strategy import Strategy
from refloat_fakekube.core.kinds.table import STRATEGIES
from refloat_fakekube.core.objects import Json, encode, ensure, section, text, texts
from refloat_fakekube.core.refusals import NotFoundError
from refloat_fakekube.core.resources import RESOURCES, Resource
from refloat_fakekube.core.store.answers import Ids
from refloat_fakekube.core.store.records import Change, Stored
from refloat_fakekube.core.store.requests import Target
from refloat_fakekube.core.store.tables import DEFAULT_LIMITS, HistoryLimits, Table

FIRST_VERSION = 1


@dataclass(slots=True)
class State:
    """All objects of a cluster. `version` is the newest `resourceVersion`: one counter for all resources, as etcd's."""

    limits: HistoryLimits = DEFAULT_LIMITS
    version: int = FIRST_VERSION
    tables: dict[str, Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for resource in RESOURCES:
            self.tables.setdefault(resource.id, Table(resource.id, self.limits))

    def table(self, resource: Resource) -> Table:
        """The table of a resource."""
        return self.tables[resource.id]

    def find(self, target: Target) -> Stored | None:
        """The current version of an object."""
        return self.table(target.resource).objects.get(target.key)

    def get(self, target: Target) -> Stored:
        """The current version of an object.

        Raises:
            NotFoundError: there is none.
        """
        found = self.find(target)
        if found is None:
            raise NotFoundError(target.resource, target.name)
        return found

    def read(self, target: Target, start: str, version: int) -> Iterator[Stored]:
        """The objects of a collection as of `version`, from key `start` on."""
        prefix = f"{target.namespace}/" if target.resource.namespaced and target.namespace else ""
        return self.table(target.resource).read(prefix, start, version)


def strategy(resource: Resource) -> Strategy:
    """How the resource's kind behaves."""
    return STRATEGIES[resource.id]


@dataclass(slots=True)
class Turn:
    """One request being carried out: the state, the time, the source of ids, and the changes so far."""

    state: State
    now_s: float
    ids: Ids
    changes: list[Change] = field(default_factory=list)

    def put(self, resource: Resource, obj: Json, before: Stored | None, *, dry_run: bool = False) -> Stored:
        """Store an object as a new version, or with `dry_run` only show what would be stored."""
        version = self.state.version + 1
        if dry_run and before is not None:
            version = before.version
        if not dry_run or before is not None:
            ensure(obj, "metadata")["resourceVersion"] = str(version)
        stored = _stored(resource, obj, version)
        if not dry_run:
            self._record(resource, Change(version, resource.id, before, stored))
        return stored

    def remove(self, resource: Resource, before: Stored, *, dry_run: bool = False) -> bytes:
        """Take an object away; gives it as it was last, with the version of its removal."""
        if dry_run:
            return before.data
        change = Change(self.state.version + 1, resource.id, before, None)
        gone = change.last_seen()
        self._record(resource, change)
        return gone

    def _record(self, resource: Resource, change: Change) -> None:
        self.state.version = change.version
        self.state.table(resource).record(change)
        self.changes.append(change)


def _stored(resource: Resource, obj: Json, version: int) -> Stored:
    metadata = section(obj, "metadata")
    namespace, name = text(metadata, "namespace"), text(metadata, "name")
    fields = strategy(resource).fields(obj)
    fields["metadata.name"] = name
    fields["metadata.namespace"] = namespace
    return Stored(
        key=Target(resource, namespace, name).key,
        namespace=namespace,
        name=name,
        uid=text(metadata, "uid"),
        version=version,
        data=encode(obj),
        labels=texts(metadata, "labels"),
        fields=fields,
    )

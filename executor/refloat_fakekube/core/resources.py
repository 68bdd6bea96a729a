"""Which resources the fake API server serves, as a table: names, scope, verbs and subresources as in Kubernetes."""

from dataclasses import dataclass

READ_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
"""The verbs of an ordinary resource (discovery, `APIResource.verbs`)."""


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object: its name, the kind of its body, and the verbs it takes."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """One row of discovery. `stored_as` names the row whose objects this one shows in another version."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    verbs: tuple[str, ...] = READ_WRITE
    stored_as: str = ""

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The name in error messages: `pods`, `leases.coordination.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def id(self) -> str:
        """The name of its table in the store."""
        return self.stored_as or self.qualified

    def subresource(self, name: str) -> Subresource | None:
        """The row of a subresource, if there is one."""
        return next((sub for sub in self.subresources if sub.name == name), None)


def _status(kind: str) -> Subresource:
    return Subresource("status", kind, ("get", "patch", "update"))


PODS = Resource(
    "",
    "v1",
    "pods",
    "pod",
    "Pod",
    namespaced=True,
    short_names=("po",),
    categories=("all",),
    subresources=(
        Subresource("binding", "Binding", ("create",)),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        _status("Pod"),
    ),
)
NODES = Resource(
    "", "v1", "nodes", "node", "Node", namespaced=False, short_names=("no",), subresources=(_status("Node"),)
)
NAMESPACES = Resource(
    "",
    "v1",
    "namespaces",
    "namespace",
    "Namespace",
    namespaced=False,
    short_names=("ns",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    subresources=(Subresource("finalize", "Namespace", ("update",)), _status("Namespace")),
)
EVENTS = Resource("", "v1", "events", "event", "Event", namespaced=True, short_names=("ev",))
NEW_EVENTS = Resource(
    "events.k8s.io", "v1", "events", "event", "Event", namespaced=True, short_names=("ev",), stored_as="events"
)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "lease", "Lease", namespaced=True)
CONFIG_MAPS = Resource("", "v1", "configmaps", "configmap", "ConfigMap", namespaced=True, short_names=("cm",))

RESOURCES = (CONFIG_MAPS, EVENTS, NAMESPACES, NODES, PODS, LEASES, NEW_EVENTS)
"""Everything that is served, core group first."""

_BY_PATH = {(row.group, row.version, row.plural): row for row in RESOURCES}


def find(group: str, version: str, plural: str) -> Resource | None:
    """The resource at `/apis/{group}/{version}/{plural}` (group empty: `/api/{version}/{plural}`)."""
    return _BY_PATH.get((group, version, plural))


def group_versions() -> dict[str, tuple[str, ...]]:
    """The served versions of each named group, in the table's order."""
    found: dict[str, tuple[str, ...]] = {}
    for row in RESOURCES:
        if row.group and row.version not in found.get(row.group, ()):
            found[row.group] = (*found.get(row.group, ()), row.version)
    return found

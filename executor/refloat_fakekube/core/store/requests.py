"""What the store can be asked, one frozen value per verb; who decodes HTTP (or simulates it) makes these."""

from dataclasses import dataclass, field
from typing import TypeAlias

from refloat_fakekube.core.objects import Json, JsonValue
from refloat_fakekube.core.resources import Resource
from refloat_fakekube.core.selectors import EVERYTHING, Selector


@dataclass(frozen=True, slots=True)
class Target:
    """The object that a request is about; the name is empty where a collection is meant."""

    resource: Resource
    namespace: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        """Its key in the table."""
        return f"{self.namespace}/{self.name}" if self.resource.namespaced else self.name


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """`CreateOptions`, `UpdateOptions`, `PatchOptions`: dry run, field manager, force (apply)."""

    dry_run: bool = False
    manager: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """`metav1.DeleteOptions`; None where nothing was said."""

    grace_s: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Get:
    """Read one object, always the current version."""

    target: Target


@dataclass(frozen=True, slots=True)
class List:
    """Read a collection. `limit` 0 is all; `version` and `match` as `resourceVersion` and `resourceVersionMatch`."""

    target: Target
    selector: Selector = EVERYTHING
    limit: int = 0
    next_page: str = ""
    version: str = ""
    match: str = ""


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object; its name is in the body, or made from `generateName`."""

    target: Target
    body: Json
    options: WriteOptions = WriteOptions()


@dataclass(frozen=True, slots=True)
class Replace:
    """Put a whole object, or its `status`, or a namespace's `finalize`."""

    target: Target
    body: Json
    subresource: str = ""
    options: WriteOptions = WriteOptions()


@dataclass(frozen=True, slots=True)
class Patch:
    """Change parts of an object. `form` is one of merge, strategic, json, apply."""

    target: Target
    form: str
    body: JsonValue
    subresource: str = ""
    options: WriteOptions = WriteOptions()


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete one object."""

    target: Target
    options: DeleteOptions = DeleteOptions()


@dataclass(frozen=True, slots=True)
class DeleteMany:
    """Delete every object that the selector picks."""

    target: Target
    selector: Selector = EVERYTHING
    options: DeleteOptions = DeleteOptions()


@dataclass(frozen=True, slots=True)
class Bind:
    """Assign a pod to a node (`pods/binding`)."""

    target: Target
    body: Json
    options: WriteOptions = WriteOptions()


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict a pod (`pods/eviction`)."""

    target: Target
    body: Json = field(default_factory=dict)
    options: DeleteOptions = DeleteOptions()


@dataclass(frozen=True, slots=True)
class Watch:
    """Open a watch; `version` as `resourceVersion`, `initial` as `sendInitialEvents`."""

    target: Target
    selector: Selector = EVERYTHING
    version: str = ""
    match: str = ""
    initial: bool | None = None
    bookmarks: bool = False


Request: TypeAlias = Get | List | Create | Replace | Patch | Delete | DeleteMany | Bind | Evict
"""Everything that `Store.apply` answers."""

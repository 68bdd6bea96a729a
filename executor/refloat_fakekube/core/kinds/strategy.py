"""The hooks that each kind fills in, as one frozen record; the store calls them and knows no kind.

Source of the division: `k8s.io/apiserver/pkg/registry/rest` (`RESTCreateStrategy`, `RESTUpdateStrategy`,
`RESTGracefulDeleteStrategy`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from refloat_fakekube.core.kinds.metadata import subdomain_faults
from refloat_fakekube.core.objects import Json
from refloat_fakekube.core.refusals import Cause

Change: TypeAlias = Callable[[Json], None]
"""Changes an object in place."""
Merge: TypeAlias = Callable[[Json, Json], None]
"""Changes the new object in place, looking at the old one."""
Check: TypeAlias = Callable[[Json], list[Cause]]
"""Judges a new object."""
CheckUpdate: TypeAlias = Callable[[Json, Json], list[Cause]]
"""Judges a new object against the old one."""


def _nothing(_: Json) -> None:
    return None


def _keep_nothing(_new: Json, _old: Json) -> None:
    return None


def _keep_status(new: Json, old: Json) -> None:
    keep_part(new, old, "status")


def _keep_spec(new: Json, old: Json) -> None:
    keep_part(new, old, "spec")


def _no_causes(_: Json) -> list[Cause]:
    return []


def _no_update_causes(_new: Json, _old: Json) -> list[Cause]:
    return []


def _no_fields(_: Json) -> dict[str, str]:
    return {}


def _no_grace(_: Json, _asked_s: int | None) -> int | None:
    return None


def keep_part(new: Json, old: Json, part: str) -> None:
    """Put the old object's `part` in place of the new one's."""
    if part in old:
        new[part] = old[part]
    else:
        new.pop(part, None)


@dataclass(frozen=True, slots=True)
class Strategy:
    """How one kind behaves.

    `default` runs on every body that comes in, `begin` only on create; `keep` and `keep_status` protect what an
    update may not touch; `grace` says how long a first deletion takes (None: the kind knows no grace);
    `fields` are the values that field selectors see, besides name and namespace.
    """

    default: Change = _nothing
    begin: Change = _nothing
    check: Check = _no_causes
    check_name: Callable[[str], list[str]] = subdomain_faults
    keep: Merge = _keep_status
    keep_status: Merge = _keep_spec
    check_update: CheckUpdate = _no_update_causes
    check_status: CheckUpdate = _no_update_causes
    fields: Callable[[Json], dict[str, str]] = _no_fields
    field_names: frozenset[str] = frozenset()
    grace: Callable[[Json, int | None], int | None] = _no_grace
    generation: bool = False
    needs_version: bool = False
    creates_on_update: bool = False
    returns_deleted: bool = False

    @property
    def selectable(self) -> frozenset[str]:
        """Every field that a field selector may name."""
        return self.field_names | {"metadata.name", "metadata.namespace"}


keep_nothing: Merge = _keep_nothing
"""For kinds without a status."""

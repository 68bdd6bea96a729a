"""Puts recorded objects into the store as they are: no defaults, no checks, only a new version."""

from refloat_fakekube.core.objects import Json, section, text
from refloat_fakekube.core.refusals import BadRequestError
from refloat_fakekube.core.resources import RESOURCES, Resource
from refloat_fakekube.core.store.requests import Target
from refloat_fakekube.core.store.state import Turn


class _NoIds:
    """A replay needs no new ids."""

    def uid(self) -> str:
        """Never asked for."""
        raise NotImplementedError

    def suffix(self) -> str:
        """Never asked for."""
        raise NotImplementedError


NO_IDS = _NoIds()
"""For turns that make nothing new."""


def put_line(turn: Turn, line: Json) -> None:
    """Carry out one watch line.

    Raises:
        BadRequestError: the line's object is of no served kind.
    """
    obj = section(line, "object")
    resource = _resource(obj)
    target = Target(resource, text(obj, "metadata", "namespace"), text(obj, "metadata", "name"))
    before = turn.state.find(target)
    if text(line, "type") != "DELETED":
        turn.put(resource, obj, before)
    elif before is not None:
        turn.remove(resource, before)


def _resource(obj: Json) -> Resource:
    kind = (text(obj, "kind"), text(obj, "apiVersion"))
    found = next((row for row in RESOURCES if (row.kind, row.api_version) == kind), None)
    if found is None:
        raise BadRequestError(f"kind: {kind[0]!r} of {kind[1]!r} is not served")
    return found

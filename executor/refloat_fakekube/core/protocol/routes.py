"""Decides from method, path and query which verb on which object a request is (`RequestInfo` of the API server)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from refloat_fakekube.core.refusals import MethodNotAllowedError, NoSuchPathError, NotServedError
from refloat_fakekube.core.resources import Resource, find, group_versions
from refloat_fakekube.core.store.requests import Target

_NAMED = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_NAMESPACE_SUBRESOURCES = {"status", "finalize"}
_WITH_NAMESPACE, _WITH_NAME, _WITH_SUBRESOURCE = 2, 2, 3


def is_true(value: str | None) -> bool:
    """A boolean parameter: there, and neither 0 nor false (`Convert_Slice_string_To_bool`)."""
    return value is not None and value.lower() not in {"false", "0"}


@dataclass(frozen=True, slots=True)
class Route:
    """One call: `verb` is get, list, watch, create, update, patch, delete or deletecollection, as in RBAC."""

    verb: str
    target: Target
    subresource: str = ""

    @property
    def resource_path(self) -> str:
        """`pods` or `pods/status`, as RBAC and counters name it."""
        plural = self.target.resource.plural
        return f"{plural}/{self.subresource}" if self.subresource else plural


def parse_route(method: str, path: str, query: Mapping[str, str]) -> Route:
    """The call behind a path below `/api` or `/apis`.

    Raises:
        NoSuchPathError: nothing is served there.
        NotServedError: nor anything else of that group.
        MethodNotAllowedError: the resource has no such verb.
    """
    parts = [part for part in path.split("/") if part]
    group, parts = ("", parts[1:]) if parts[:1] == ["api"] else (parts[1] if len(parts) > 1 else "", parts[2:])
    if not parts:
        raise NoSuchPathError
    version, rest = parts[0], parts[1:]
    namespace = ""
    if len(rest) > _WITH_NAMESPACE and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    if not rest or len(rest) > _WITH_SUBRESOURCE:
        raise NoSuchPathError
    resource = find(group, version, rest[0])
    if resource is None and group and group not in group_versions():
        raise NotServedError
    if resource is None or (namespace and not resource.namespaced):
        raise NoSuchPathError
    target = Target(resource, namespace, rest[1] if len(rest) >= _WITH_NAME else "")
    subresource = rest[2] if len(rest) == _WITH_SUBRESOURCE else ""
    return _route(method, target, subresource, query)


def _route(method: str, target: Target, subresource: str, query: Mapping[str, str]) -> Route:
    resource = target.resource
    if target.name and resource.namespaced and not target.namespace:
        raise NoSuchPathError
    verb = (_NAMED if target.name else _COLLECTION).get(method, "")
    if verb == "list" and is_true(query.get("watch")):
        verb = "watch"
    if subresource:
        found = resource.subresource(subresource)
        if found is None:
            raise NoSuchPathError
        allowed = verb in found.verbs
    else:
        allowed = verb in resource.verbs and not (verb == "create" and _cannot_create(target, resource))
    if not allowed:
        raise MethodNotAllowedError
    return Route(verb, target, subresource)


def _cannot_create(target: Target, resource: Resource) -> bool:
    return bool(target.name) or (resource.namespaced and not target.namespace)


def stored(route: Route) -> Route:
    """The same call on the resource under which the objects are stored."""
    resource = route.target.resource
    if not resource.stored_as:
        return route
    home = find("", "v1", resource.stored_as)
    return replace(route, target=replace(route.target, resource=home)) if home is not None else route

"""The documents that tell clients what is served: `/api`, `/apis`, resource lists, `/version`, a small OpenAPI."""

from refloat_fakekube.core.objects import Json, JsonValue
from refloat_fakekube.core.refusals import NoSuchPathError
from refloat_fakekube.core.resources import RESOURCES, Resource, group_versions

MINOR = "34"
"""The Kubernetes version whose behaviour is followed: 1.34."""
_GROUP_WITHOUT_RESOURCES = {"policy": ("v1",)}
_LEGACY_PREFIX, _NAMED_PREFIX = "api", "apis"
_GROUP_DEPTH, _VERSION_DEPTH = 2, 3
_OPENAPI_VERSION_DEPTH = 2


def version() -> Json:
    """`/version`."""
    return {
        "major": "1",
        "minor": MINOR,
        "gitVersion": f"v1.{MINOR}.4+fakekube",
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": "linux/amd64",
    }


def document(path: str) -> Json:
    """The discovery document at a path.

    Raises:
        NoSuchPathError: there is none.
    """
    parts = [part for part in path.split("/") if part]
    if parts == ["version"]:
        return version()
    if parts[:1] == ["openapi"]:
        return _openapi(parts[1:])
    if parts == [_LEGACY_PREFIX]:
        address: Json = {"clientCIDR": "0.0.0.0/0", "serverAddress": ""}
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]}
    if parts == [_NAMED_PREFIX]:
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in _groups()]}
    if parts[:1] == [_LEGACY_PREFIX] and len(parts) == _GROUP_DEPTH:
        return _resources("", parts[1])
    if parts[:1] == [_NAMED_PREFIX] and len(parts) == _GROUP_DEPTH:
        return {**_group(parts[1]), "kind": "APIGroup", "apiVersion": "v1"}
    if parts[:1] == [_NAMED_PREFIX] and len(parts) == _VERSION_DEPTH:
        return _resources(parts[1], parts[2])
    raise NoSuchPathError


def is_document(path: str) -> bool:
    """Whether a path is one of discovery, not one of a resource."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] in (["version"], ["openapi"]):
        return True
    depth = {_LEGACY_PREFIX: _GROUP_DEPTH, _NAMED_PREFIX: _VERSION_DEPTH}.get(parts[0] if parts else "", 0)
    return bool(parts) and len(parts) <= depth


def _groups() -> dict[str, tuple[str, ...]]:
    return {**group_versions(), **_GROUP_WITHOUT_RESOURCES}


def _group(name: str) -> Json:
    versions = _groups().get(name)
    if versions is None:
        raise NoSuchPathError
    listed: list[JsonValue] = [{"groupVersion": f"{name}/{one}", "version": one} for one in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resources(group: str, wanted: str) -> Json:
    rows = [row for row in RESOURCES if (row.group, row.version) == (group, wanted)]
    if not rows and wanted not in _GROUP_WITHOUT_RESOURCES.get(group, ()):
        raise NoSuchPathError
    listed: list[JsonValue] = []
    for row in rows:
        listed.append(_row(row))
        listed += _subresource_rows(row)
    group_version = f"{group}/{wanted}" if group else wanted
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _row(row: Resource) -> Json:
    shown: Json = {"name": row.plural, "singularName": row.singular, "namespaced": row.namespaced, "kind": row.kind}
    shown["verbs"] = [*row.verbs]
    if row.short_names:
        shown["shortNames"] = [*row.short_names]
    if row.categories:
        shown["categories"] = [*row.categories]
    return shown


def _subresource_rows(row: Resource) -> list[JsonValue]:
    found: list[JsonValue] = []
    for sub in row.subresources:
        shown: Json = {"name": f"{row.plural}/{sub.name}", "singularName": "", "namespaced": row.namespaced}
        if sub.group:
            shown.update({"group": sub.group, "version": sub.version})
        found.append({**shown, "kind": sub.kind, "verbs": [*sub.verbs]})
    return found


def _openapi(parts: list[str]) -> Json:
    """OpenAPI v3 as far as kubectl needs it: which paths take `fieldValidation`; no schemas."""
    if parts == ["v3"]:
        paths: Json = {}
        for row in RESOURCES:
            place = f"apis/{row.group}/{row.version}" if row.group else f"api/{row.version}"
            paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash=0"}
        return {"paths": paths}
    if parts[:1] == ["v3"] and len(parts) > _OPENAPI_VERSION_DEPTH:
        group, wanted = ("", parts[2]) if parts[1] == _LEGACY_PREFIX else (parts[2], parts[-1])
        rows = [row for row in RESOURCES if (row.group, row.version) == (group, wanted)]
        if rows:
            return _openapi_document(rows)
    raise NoSuchPathError


def _openapi_document(rows: list[Resource]) -> Json:
    paths: Json = {}
    for row in rows:
        prefix = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
        middle = "/namespaces/{namespace}" if row.namespaced else ""
        parameter: Json = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
        patch: Json = {"parameters": [parameter], "x-kubernetes-action": "patch"}
        patch["x-kubernetes-group-version-kind"] = {"group": row.group, "version": row.version, "kind": row.kind}
        paths[f"{prefix}{middle}/{row.plural}/{{name}}"] = {"patch": patch}
    info: Json = {"title": "Kubernetes", "version": f"v1.{MINOR}.4"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}

"""Carries out `create`: names, system fields, defaults, validation, and the rules of namespaces."""

from refloat_fakekube.core.kinds import causes
from refloat_fakekube.core.kinds.metadata import check_metadata
from refloat_fakekube.core.objects import Json, drop_nulls, ensure, section, text, time_text
from refloat_fakekube.core.refusals import (
    AlreadyExistsError,
    BadRequestError,
    Cause,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnforeseenError,
)
from refloat_fakekube.core.resources import NAMESPACES, Resource
from refloat_fakekube.core.store.answers import Found
from refloat_fakekube.core.store.requests import Create, Target
from refloat_fakekube.core.store.state import Turn, strategy

_GENERATED_BASE_MAX = 58
_SYSTEM_FIELDS = ("resourceVersion", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def create(turn: Turn, request: Create) -> Found:
    """Create an object.

    Raises:
        RefusalError: the body does not belong here, breaks a rule, or its name is taken.
    """
    resource, body = request.target.resource, request.body
    metadata = ensure(body, "metadata")
    _check_version(metadata)
    name = _settle_name(turn, resource, metadata, request.target.name)
    target = settle(resource, body, Target(resource, request.target.namespace, name))
    _check_namespace(turn, target)
    rules = strategy(resource)
    drop_nulls(body)
    rules.default(body)
    for field in _SYSTEM_FIELDS:
        metadata.pop(field, None)
    if not text(metadata, "generateName"):
        metadata.pop("generateName", None)
    metadata["uid"] = turn.ids.uid()
    metadata["creationTimestamp"] = time_text(turn.now_s)
    metadata.pop("generation", None)
    if rules.generation:
        metadata["generation"] = 1
    rules.begin(body)
    refuse(resource, name, [*_check_name(rules.check_name(name), name), *rules.check(body), *check_metadata(body)])
    taken = turn.state.find(target)
    if taken is not None:
        raise AlreadyExistsError(resource, name, leaving=bool(text(taken.read(), "metadata", "deletionTimestamp")))
    return Found(turn.put(resource, body, None, dry_run=request.options.dry_run).data, created=True)


def refuse(resource: Resource, name: str, found: list[Cause]) -> None:
    """Refuse an object for the causes found, if any.

    Raises:
        InvalidError: there is a cause.
    """
    if found:
        raise InvalidError(resource.group, resource.kind, name, found)


def settle(resource: Resource, body: Json, target: Target) -> Target:
    """Check that a body is of the kind, name and namespace that the path says, and write them into it.

    Raises:
        BadRequestError: it isn't.
    """
    metadata = ensure(body, "metadata")
    kind, version = text(body, "kind") or resource.kind, text(body, "apiVersion") or resource.api_version
    if (kind, version) != (resource.kind, resource.api_version):
        why = f"converting (v1.{kind}) to (core.{resource.kind}): unknown conversion"
        raise BadRequestError(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}')
    if target.name and text(metadata, "name") not in {"", target.name}:
        given = text(metadata, "name")
        raise BadRequestError(
            f"the name of the object ({given}) does not match the name on the URL ({target.name})",
        )
    namespace = target.namespace if resource.namespaced else ""
    if text(metadata, "namespace") not in {"", namespace}:
        raise BadRequestError("the namespace of the provided object does not match the namespace sent on the request")
    rest = {key: value for key, value in body.items() if key not in {"kind", "apiVersion"}}
    body.clear()
    body.update({"kind": resource.kind, "apiVersion": resource.api_version, **rest})
    metadata["name"] = target.name
    if resource.namespaced:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    return Target(resource, namespace, target.name)


def _check_version(metadata: Json) -> None:
    if text(metadata, "resourceVersion"):
        raise UnforeseenError("resourceVersion should not be set on objects to be created")


def _settle_name(turn: Turn, resource: Resource, metadata: Json, wanted: str) -> str:
    name = wanted or text(metadata, "name")
    base = text(metadata, "generateName")
    if not name and base:
        name = base[:_GENERATED_BASE_MAX] + turn.ids.suffix()
        metadata["name"] = name
    if not name:
        missing = causes.required("metadata.name", "name or generateName is required")
        raise InvalidError(resource.group, resource.kind, "", [missing])
    return name


def _check_name(faults: list[str], name: str) -> list[Cause]:
    return [causes.invalid("metadata.name", name, fault) for fault in faults]


def _check_namespace(turn: Turn, target: Target) -> None:
    if not target.resource.namespaced:
        return
    if not target.namespace:
        raise BadRequestError("an empty namespace may not be set during creation")
    home = turn.state.find(Target(NAMESPACES, name=target.namespace))
    if home is None:
        raise NotFoundError(NAMESPACES, target.namespace)
    if text(section(home.read(), "status"), "phase") == "Terminating":
        words = f"unable to create new content in namespace {target.namespace} because it is being terminated"
        raise ForbiddenError(
            f'{target.resource.qualified} "{target.name}" is forbidden: {words}',
            group=target.resource.group,
            kind=target.resource.plural,
            name=target.name,
            causes=(
                Cause(
                    "NamespaceTerminating", f"namespace {target.namespace} is being terminated", "metadata.namespace"
                ),
            ),
        )

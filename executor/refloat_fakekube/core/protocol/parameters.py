"""Turns a call with its query and body into the store's request.

Sources: `ListOptions`, `CreateOptions`, `PatchOptions`, `DeleteOptions` of `k8s.io/apimachinery/pkg/apis/meta/v1`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from refloat_fakekube.core.kinds import causes
from refloat_fakekube.core.kinds.table import STRATEGIES
from refloat_fakekube.core.objects import Json, JsonValue, NotAnObjectError, decode, encode, number, section, text
from refloat_fakekube.core.patches.dispatch import MEDIA_TYPES
from refloat_fakekube.core.protocol.routes import Route, is_true
from refloat_fakekube.core.refusals import (
    BadRequestError,
    InvalidError,
    UnsupportedMediaTypeError,
    UnsupportedPatchError,
)
from refloat_fakekube.core.selectors import Selector, parse_fields, parse_labels
from refloat_fakekube.core.store.requests import (
    Bind,
    Create,
    Delete,
    DeleteMany,
    DeleteOptions,
    Evict,
    Get,
    List,
    Patch,
    Replace,
    Request,
    Watch,
    WriteOptions,
)

_BODIES = ("application/json", "application/yaml")
_MANAGER_MAX = 128
_UNRECOGNIZED = "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error"


@dataclass(frozen=True, slots=True)
class Call:
    """A call with everything it carries; `content_type` without parameters, empty when not given."""

    route: Route
    query: Mapping[str, str]
    body: bytes = b""
    content_type: str = ""


def to_request(call: Call) -> Request:
    """The store's request for any call but a watch.

    Raises:
        RefusalError: a parameter or the body can't be understood.
    """
    route, target = call.route, call.route.target
    match route.verb:
        case "get":
            return Get(target)
        case "list":
            return _list(call)
        case "create" if route.subresource == "binding":
            return Bind(target, _body(call), _write_options(call))
        case "create" if route.subresource == "eviction":
            body = _body(call)
            return Evict(target, body, _delete_options(call, section(body, "deleteOptions")))
        case "create":
            return Create(target, _body(call), _write_options(call))
        case "update":
            return Replace(target, _body(call), route.subresource, _write_options(call))
        case "patch":
            return _patch(call)
        case "delete":
            return Delete(target, _delete_options(call, _body(call) if call.body else None))
        case _:
            options = _delete_options(call, _body(call) if call.body else None)
            return DeleteMany(target, selector(call), options)


def _list(call: Call) -> List:
    query = call.query
    if query.get("sendInitialEvents"):
        wrong = causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        raise InvalidError("meta.k8s.io", "ListOptions", "", [wrong])
    return List(
        call.route.target,
        selector(call),
        limit=_number(query, "limit") or 0,
        next_page=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
    )


def to_watch(call: Call) -> Watch:
    """The store's request for a watch.

    Raises:
        RefusalError: a parameter can't be understood.
    """
    query = call.query
    initial = query.get("sendInitialEvents")
    return Watch(
        call.route.target,
        selector(call),
        version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        initial=None if initial is None else is_true(initial),
        bookmarks=is_true(query.get("allowWatchBookmarks")),
    )


def timeout_s(call: Call) -> int | None:
    """`timeoutSeconds`, where it is given and positive."""
    return _number(call.query, "timeoutSeconds") or None


def selector(call: Call) -> Selector:
    """What the call picks: its namespace, `labelSelector` and `fieldSelector`."""
    resource = call.route.target.resource
    return Selector(
        call.route.target.namespace,
        parse_labels(call.query.get("labelSelector", "")),
        parse_fields(call.query.get("fieldSelector", ""), STRATEGIES[resource.id].selectable),
    )


def _number(query: Mapping[str, str], name: str) -> int | None:
    value = query.get(name, "")
    if not value:
        return None
    try:
        return int(value)
    except ValueError as error:
        raise BadRequestError(f'strconv.ParseInt: parsing "{value}": invalid syntax') from error


def _dry_run(values: list[JsonValue], kind: str) -> bool:
    wrong = [value for value in values if value != "All"]
    if wrong:
        cause = causes.unsupported("dryRun", wrong, ["All"])
        raise InvalidError("meta.k8s.io", kind, "", [cause])
    return bool(values)


def _write_options(call: Call) -> WriteOptions:
    query = call.query
    kind = {"create": "CreateOptions", "update": "UpdateOptions"}.get(call.route.verb, "PatchOptions")
    dry_run = _dry_run([query["dryRun"]] if query.get("dryRun") else [], kind)
    return WriteOptions(dry_run, query.get("fieldManager", "")[:_MANAGER_MAX], is_true(query.get("force")))


def _delete_options(call: Call, given: Json | None) -> DeleteOptions:
    """From the body when there is one, else from the query, as the real server does."""
    if given is not None:
        found = given.get("dryRun")
        values = found if isinstance(found, list) else []
        wanted = section(given, "preconditions")
        return DeleteOptions(
            number(given, "gracePeriodSeconds"),
            text(wanted, "uid") if "uid" in wanted else None,
            text(wanted, "resourceVersion") if "resourceVersion" in wanted else None,
            dry_run=_dry_run(values or _asked(call), "DeleteOptions"),
        )
    return DeleteOptions(_number(call.query, "gracePeriodSeconds"), dry_run=_dry_run(_asked(call), "DeleteOptions"))


def _asked(call: Call) -> list[JsonValue]:
    return [call.query["dryRun"]] if call.query.get("dryRun") else []


def _patch(call: Call) -> Patch:
    form = MEDIA_TYPES.get(call.content_type)
    if form is None:
        raise UnsupportedPatchError
    body: JsonValue
    try:
        if form == "json":
            body = decode(b'{"patch":' + call.body + b"}").get("patch")
        else:
            body = _from_yaml(call.body, "") if form == "apply" else decode(call.body)
    except NotAnObjectError as error:
        raise BadRequestError(f"error decoding patch: {error}") from error
    options = _write_options(call)
    if form == "apply" and not options.manager:
        missing = causes.required("fieldManager", "is required for apply patch")
        raise InvalidError("meta.k8s.io", "PatchOptions", "", [missing])
    return Patch(call.route.target, form, body, call.route.subresource, options)


def _body(call: Call) -> Json:
    if call.content_type not in {"", *_BODIES}:
        raise UnsupportedMediaTypeError(_BODIES)
    kind = call.route.target.resource.kind
    return _from_yaml(call.body, kind) if call.content_type == "application/yaml" else _decoded(call.body, kind)


def _decoded(data: bytes, kind: str) -> Json:
    try:
        return decode(data)
    except NotAnObjectError as error:
        raise BadRequestError(f"{_UNRECOGNIZED.format(kind)}: {error}") from error


def _from_yaml(data: bytes, kind: str) -> Json:
    if data.lstrip().startswith(b"{"):
        return _decoded(data, kind)
    try:
        return decode(encode(yaml.safe_load(data)))
    except (yaml.YAMLError, NotAnObjectError, TypeError) as error:
        raise BadRequestError(f"error decoding YAML: {error}") from error

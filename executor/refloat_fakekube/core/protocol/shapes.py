"""Decides in which view a client gets objects: as stored, as `events.k8s.io/v1`, or as a table for printing."""

from refloat_fakekube.core.objects import Json, NotAnObjectError, decode, encode, section, text
from refloat_fakekube.core.protocol.bodies import Shape
from refloat_fakekube.core.protocol.event_versions import from_core, to_core
from refloat_fakekube.core.protocol.routes import Route
from refloat_fakekube.core.protocol.tables.table import table
from refloat_fakekube.core.refusals import NotAcceptableError
from refloat_fakekube.core.resources import NEW_EVENTS

_PLAIN = {"", "*/*", "application/*", "application/json"}


def shape_of(route: Route, accept: str, include: str) -> Shape:
    """The first view among those of the `Accept` header that can be served.

    Raises:
        NotAcceptableError: there is none.
    """
    for wanted in accept.split(","):
        media, *parameters = (part.strip() for part in wanted.split(";"))
        if media not in _PLAIN:
            continue
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        if "as" not in given:
            return _plain(route)
        if (given["as"], given.get("g"), given.get("v")) == ("Table", "meta.k8s.io", "v1"):
            return _table(route, include)
    raise NotAcceptableError


def _plain(route: Route) -> Shape:
    resource = route.target.resource
    if resource is NEW_EVENTS:
        return Shape(resource, one=lambda data, _: encode(from_core(decode(data))))
    return Shape(resource)


def _table(route: Route, include: str) -> Shape:
    resource = route.target.resource

    def one(data: bytes, now_s: float) -> bytes:
        obj = decode(data)
        if text(obj, "kind") == "Status":
            return data
        metadata: Json = {"resourceVersion": text(section(obj, "metadata"), "resourceVersion")}
        return encode(table(resource.id, [data], metadata, now_s, include))

    def many(items: list[bytes], metadata: Json, now_s: float) -> bytes:
        return encode(table(resource.id, items, metadata, now_s, include))

    return Shape(resource, one, many)


def to_stored(route: Route, body: bytes) -> bytes:
    """The body in the version in which objects of the resource are stored; what can't be read stays as it is."""
    if route.target.resource is not NEW_EVENTS or not body or route.verb not in {"create", "update"}:
        return body
    try:
        return encode(to_core(decode(body)))
    except NotAnObjectError:
        return body

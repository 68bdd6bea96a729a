"""Writes answers as the bytes of an HTTP body: objects, lists, statuses, watch lines; plain, or in another view."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias, assert_never

from refloat_fakekube.core.objects import Json, encode
from refloat_fakekube.core.refusals import RefusalError
from refloat_fakekube.core.resources import Resource
from refloat_fakekube.core.store.answers import Answer, Done, Found, Page
from refloat_fakekube.core.store.records import Change, Stored, event_line

View: TypeAlias = Callable[[bytes, float], bytes]
"""Changes how an object is shown at a time: another version, or a table of one row with its age."""
ListView: TypeAlias = Callable[[list[bytes], Json, float], bytes]
"""Shows many objects and the list's metadata as one body."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a client wants objects shown; without views they go out as they are stored."""

    resource: Resource
    one: View | None = None
    many: ListView | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """An HTTP answer: its code, its body, and `Retry-After` in seconds where there is one."""

    code: int
    data: bytes
    retry_after_s: int = 0


def write(answer: Answer, shape: Shape, now_s: float) -> Body:
    """The HTTP answer for an answer of the store, at `now_s` (seconds since 1970)."""
    match answer:
        case Found(data, created):
            code = HTTPStatus.CREATED if created else HTTPStatus.OK
            return Body(code, shape.one(data, now_s) if shape.one else data)
        case Page():
            return Body(HTTPStatus.OK, _list(answer, shape, now_s))
        case Done():
            return Body(HTTPStatus.CREATED if answer.created else HTTPStatus.OK, encode(_success(answer)))
        case RefusalError():
            return Body(answer.code, encode(answer.status()), answer.retry_after_s)
        case _:
            assert_never(answer)


def _success(done: Done) -> Json:
    body: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    details: Json = {
        key: value
        for key, value in (("name", done.name), ("group", done.group), ("kind", done.kind), ("uid", done.uid))
        if value
    }
    if details:
        body["details"] = details
    if done.created:
        body["code"] = int(HTTPStatus.CREATED)
    return body


def _list(page: Page, shape: Shape, now_s: float) -> bytes:
    metadata: Json = {"resourceVersion": str(page.version)}
    if page.next_page:
        metadata["continue"] = page.next_page
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    items = [stored.data for stored in page.items]
    if shape.many is not None:
        return shape.many(items, metadata, now_s)
    if shape.one is not None:
        items = [shape.one(item, now_s) for item in items]
    return join_list(shape.resource, items, metadata)


def join_list(resource: Resource, items: list[bytes], metadata: Json) -> bytes:
    """`PodList` and its like; items go without kind and apiVersion, as the real server sends them."""
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    prefix = type_prefix(resource)
    bare = [b"{" + item[len(prefix) :] if item.startswith(prefix) else item for item in items]
    return head + encode(metadata) + b',"items":[' + b",".join(bare) + b"]}"


def type_prefix(resource: Resource) -> bytes:
    """How every stored object of the resource begins."""
    return f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode()


def bookmark(resource: Resource, version: int, *, initial_end: bool = False) -> bytes:
    """A BOOKMARK object; `initial_end` marks the end of the initial events (`k8s.io/initial-events-end`)."""
    metadata: Json = {"resourceVersion": str(version)}
    if initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    if resource.plural == "pods":
        obj.update({"spec": {"containers": None}, "status": {}})
    return encode(obj)


def error_line(refusal: RefusalError) -> bytes:
    """An ERROR event."""
    return event_line("ERROR", encode(refusal.status()))


def change_line(change: Change, kind: str, shape: Shape, now_s: float) -> bytes:
    """The watch line of a change; shared by all watchers that want objects as they are stored."""
    if shape.one is None:
        return change.line(kind)
    data = change.last_seen() if kind == "DELETED" or change.after is None else change.after.data
    return event_line(kind, shape.one(data, now_s))


def shown_line(stored: Stored, shape: Shape, now_s: float) -> bytes:
    """The ADDED line of an object that is there when a watch starts."""
    return event_line("ADDED", shape.one(stored.data, now_s) if shape.one else stored.data)

"""Decodes what the Kubernetes API sends into narrow structs, and survives text that is not quite JSON.

The API server relays what users write, so an event may hold half a surrogate pair or bytes that are not UTF-8. One
such event must cost neither the watch nor the pod, so it is repaired, not refused.
"""

import json
from collections.abc import Sequence
from typing import Generic, TypeAlias, TypeVar

import msgspec

from refloat_common.core.pods import Event, Node, Pod

T = TypeVar("T", Pod, Node)

Lines: TypeAlias = bytes | memoryview | tuple[bytes | memoryview, ...]
"""Whole lines of a watch, in one piece or in several; an empty piece holds none."""

BOOKMARK = "BOOKMARK"
ERROR = "ERROR"
DELETED = "DELETED"
CHANGE_TYPES = frozenset({"ADDED", "MODIFIED", DELETED})


class UnreadableError(Exception):
    """A response that is no JSON, or not of the shape asked for, even after repair."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")


class Status(msgspec.Struct, frozen=True, gc=False):
    """The object of an ERROR event, and the body of a refusal."""

    message: str = ""
    reason: str = ""
    code: int = 0

    @property
    def type(self) -> str:
        """As an event it is an ERROR."""
        return ERROR


class PageMeta(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """`metadata` of a list: the version it shows, and the token of its next page."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list."""

    items: list[T] | None = None
    metadata: PageMeta = PageMeta()


class WatchEvent(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One line of a watch that carries an object (or, as BOOKMARK, nothing of it but a resourceVersion)."""

    type: str
    object: T


class _ErrorEvent(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: Status


class _Uid(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""


class _UidOnly(msgspec.Struct, frozen=True, gc=False):
    metadata: _Uid = _Uid()


class UidPage(msgspec.Struct, frozen=True):
    """One page of a list of which only the uids are wanted."""

    items: list[_UidOnly] | None = None
    metadata: PageMeta = PageMeta()

    def uids(self) -> list[str]:
        """The uids of the page."""
        return [item.metadata.uid for item in self.items or ()]


class EventPage(msgspec.Struct, frozen=True):
    """One page of a list of events."""

    items: list[Event] | None = None
    metadata: PageMeta = PageMeta()


_error_decoder = msgspec.json.Decoder(_ErrorEvent)
_status_decoder = msgspec.json.Decoder(Status)
_pod_decoder = msgspec.json.Decoder(Pod)
_uid_page_decoder = msgspec.json.Decoder(UidPage)
_event_page_decoder = msgspec.json.Decoder(EventPage)
_D = TypeVar("_D")


class Codec(Generic[T]):
    """Decodes pages and watch lines of one kind of object. Made once: building decoders is slow, using them is not."""

    def __init__(self, kind: type[T]) -> None:
        self._page: msgspec.json.Decoder[Page[T]] = msgspec.json.Decoder(Page[kind])  # type: ignore[valid-type]  # a parameter, known at run time
        self._event: msgspec.json.Decoder[WatchEvent[T]] = msgspec.json.Decoder(WatchEvent[kind])  # type: ignore[valid-type]  # the same

    def page(self, body: bytes) -> Page[T]:
        """One page of a list.

        Raises:
            UnreadableError: not a list of this kind.
        """
        return _decode(self._page, body)

    def block(self, lines: Lines) -> Sequence["WatchEvent[T] | Status"]:
        """The events of whole lines, in order; an ERROR event gives its Status.

        Raises:
            UnreadableError: a line that can't be repaired; none of the block may then be used.
        """
        if isinstance(lines, tuple):
            return [event for piece in lines for event in self.block(piece)]
        try:
            return self._event.decode_lines(lines)
        except (msgspec.DecodeError, UnicodeError):
            return [self._line(line) for line in bytes(lines).split(b"\n") if line.strip()]

    def _line(self, line: bytes) -> "WatchEvent[T] | Status":
        try:
            return _decode(self._event, line)
        except UnreadableError:
            error = _decode(_error_decoder, line)
            if error.type != ERROR:
                raise
            return error.object


def _decode(decoder: "msgspec.json.Decoder[_D]", body: bytes) -> _D:
    """Decode, if need be after a repair of the text."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError) as error:
        text = repaired(body)
        if text is None:
            raise UnreadableError("response", str(error)) from None
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise UnreadableError("response", str(error)) from None


def repaired(body: bytes) -> bytes | None:
    """The same JSON with what is not text replaced; None where it is no JSON at all."""
    try:
        value: object = json.loads(body.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def decode_pod(body: bytes) -> Pod:
    """The pod of a response to GET, POST or DELETE.

    Raises:
        UnreadableError: not a pod.
    """
    return _decode(_pod_decoder, body)


def decode_uid_page(body: bytes) -> UidPage:
    """One page of any list, uids only.

    Raises:
        UnreadableError: not a list.
    """
    return _decode(_uid_page_decoder, body)


def decode_event_page(body: bytes) -> EventPage:
    """One page of a list of events.

    Raises:
        UnreadableError: not a list of events.
    """
    return _decode(_event_page_decoder, body)


def decode_status(body: bytes) -> Status:
    """The Status of a refusal; an answer that is none (a proxy's page) gives its first characters as message."""
    try:
        return _decode(_status_decoder, body)
    except UnreadableError:
        return Status(message=body[:200].decode("utf-8", "replace"))

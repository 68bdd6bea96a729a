"""What the store keeps and tells: one stored version of an object, and one change that watchers hear of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from refloat_fakekube.core.objects import Json, decode, encode, section
from refloat_fakekube.core.selectors import Selector

LINE_END = b"}\n"


@dataclass(frozen=True, slots=True)
class Stored:
    """One version of an object. `data` is its JSON, encoded once; `fields` are those a field selector may name."""

    key: str
    namespace: str
    name: str
    uid: str
    version: int
    data: bytes
    labels: Mapping[str, str]
    fields: Mapping[str, str]

    def read(self) -> Json:
        """A fresh decoded copy that the caller may change."""
        return decode(self.data)

    def picked_by(self, selector: Selector) -> bool:
        """Whether the selector picks it."""
        return selector.picks(self.namespace, self.labels, self.fields)


def event_line(kind: str, data: bytes) -> bytes:
    """One line of a watch stream."""
    return b'{"type":"' + kind.encode() + b'","object":' + data + LINE_END


@dataclass(slots=True)
class Change:
    """One step of one object: created (no `before`), changed, or removed (no `after`).

    `gone` is the object as it was last, with the version of its removal (`metadata.resourceVersion` of DELETED).
    """

    version: int
    table: str
    before: Stored | None
    after: Stored | None
    gone: bytes = b""
    _lines: dict[str, bytes] = field(default_factory=dict)

    def seen_by(self, selector: Selector) -> tuple[str, Stored] | None:
        """The watch event for a watcher with this selector: its type and the object version it is about.

        An object that stops being picked is DELETED for that watcher, one that starts to be picked is ADDED
        (`cacheWatcher.convertToWatchEvent`).
        """
        was = self.before is not None and self.before.picked_by(selector)
        now = self.after is not None and self.after.picked_by(selector)
        if self.after is not None and now:
            return ("MODIFIED" if was else "ADDED"), self.after
        if self.before is not None and was:
            return "DELETED", self.before
        return None

    def line(self, kind: str) -> bytes:
        """The watch line of this type, encoded once for all watchers."""
        found = self._lines.get(kind)
        if found is None:
            found = event_line(kind, self.last_seen() if kind == "DELETED" or self.after is None else self.after.data)
            self._lines[kind] = found
        return found

    def last_seen(self) -> bytes:
        """The previous object with the version of this change: what a DELETED event carries."""
        if not self.gone and self.before is not None:
            obj = self.before.read()
            section(obj, "metadata")["resourceVersion"] = str(self.version)
            self.gone = encode(obj)
        return self.gone

    def size_bytes(self) -> int:
        """About what keeping the change costs."""
        return len(self.after.data) if self.after is not None else len(self.gone)

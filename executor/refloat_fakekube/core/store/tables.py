"""Keeps the objects of one resource in key order, and the latest changes, so that past versions can be read.

The history is bounded by count and by bytes; what falls out is *compacted*, and asking for it is answered with 410.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from refloat_fakekube.core.store.records import Change, Stored


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """How much of the past each resource keeps."""

    changes: int = 20_000
    size_bytes: int = 128 << 20


DEFAULT_LIMITS = HistoryLimits()


@dataclass(slots=True)
class Table:
    """The objects of one resource by key (`namespace/name`, or the name alone), and what happened to them lately.

    `compacted` is the newest version whose changes are no longer kept: a watch may start from it, not before it.
    """

    name: str
    limits: HistoryLimits
    compacted: int = 0
    objects: dict[str, Stored] = field(default_factory=dict)
    _keys: list[str] = field(default_factory=list)
    _history: deque[Change] = field(default_factory=deque)
    _history_bytes: int = 0

    def record(self, change: Change) -> None:
        """Apply one change."""
        if change.after is not None:
            if change.after.key not in self.objects:
                insort(self._keys, change.after.key)
            self.objects[change.after.key] = change.after
        elif change.before is not None:
            del self.objects[change.before.key]
            del self._keys[bisect_left(self._keys, change.before.key)]
        self._history.append(change)
        self._history_bytes += change.size_bytes()
        while len(self._history) > self.limits.changes or self._history_bytes > self.limits.size_bytes:
            self._forget()

    def _forget(self) -> None:
        oldest = self._history.popleft()
        self._history_bytes -= oldest.size_bytes()
        self.compacted = oldest.version

    def compact(self, version: int) -> None:
        """Forget every change up to and including `version`."""
        while self._history and self._history[0].version <= version:
            self._forget()
        self.compacted = max(self.compacted, version)

    def since(self, version: int) -> list[Change]:
        """The changes after `version`, oldest first. The caller has compared it with `compacted`."""
        newer = 0
        for change in reversed(self._history):
            if change.version <= version:
                break
            newer += 1
        return list(islice(self._history, len(self._history) - newer, None))

    def read(self, prefix: str, start: str, version: int) -> Iterator[Stored]:
        """The objects whose key has `prefix` and is not before `start`, in key order, as of `version`."""
        past: dict[str, Stored | None] = {}
        for change in reversed(self._history):
            if change.version <= version:
                break
            key = (change.before or change.after).key  # type: ignore[union-attr]  # a change has one of them
            past[key] = change.before
        keys = self._keys[bisect_left(self._keys, max(prefix, start)) :]
        if past:
            keys = sorted({*keys, *(key for key in past if key >= max(prefix, start))})
        for key in keys:
            if not key.startswith(prefix):
                break
            found = past[key] if key in past else self.objects[key]
            if found is not None:
                yield found

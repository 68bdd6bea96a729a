"""Decides whether the bytes of a MessagePack value are small and flat enough to be decoded at all.

The decoder makes a list as long as its header claims before it reads a member, so a few hostile bytes can claim much
memory. This walk reads headers only and makes nothing. Wire format: the MessagePack specification, *Formats*.
"""

from dataclasses import dataclass
from typing import Final

MAX_DEPTH: Final = 8
"""Lists and maps within one another. The deepest message (node facts) needs 4."""
MAX_ITEMS: Final = 65_536
"""Values in one frame, keys included: 4,096 runs of HELLO are 36,865."""
MAX_LIST: Final = 4096
MAX_MAP: Final = 256
MAX_TEXT_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Misshapen:
    """Why the bytes are not decoded: a code of the wire, and a text for the log."""

    code: str
    why: str


@dataclass(frozen=True, slots=True)
class _Head:
    """What a value's first byte says.

    `width`: bytes of the big-endian number that follows, a size for everything but a scalar. `size`: the size where
    the first byte holds it, or a scalar's length. `per_item`: values per member, 2 for a map, 0 for what holds none.
    """

    width: int = 0
    size: int = 0
    per_item: int = 0
    limit: int = 0


def _heads() -> list[_Head | None]:
    """One entry per first byte; None for extension types and the byte that the specification never uses."""
    heads: list[_Head | None] = [_Head()] * 256
    heads[0x80:0x90] = [_Head(size=n, per_item=2, limit=MAX_MAP) for n in range(16)]
    heads[0x90:0xA0] = [_Head(size=n, per_item=1, limit=MAX_LIST) for n in range(16)]
    heads[0xA0:0xC0] = [_Head(size=n, limit=MAX_TEXT_BYTES) for n in range(32)]
    heads[0xC1] = None
    for code, width in ((0xC4, 1), (0xC5, 2), (0xC6, 4), (0xD9, 1), (0xDA, 2), (0xDB, 4)):
        heads[code] = _Head(width=width, limit=MAX_TEXT_BYTES)
    heads[0xC7:0xCA] = [None] * 3
    scalars = (
        (0xCA, 4),
        (0xCB, 8),
        (0xCC, 1),
        (0xCD, 2),
        (0xCE, 4),
        (0xCF, 8),
        (0xD0, 1),
        (0xD1, 2),
        (0xD2, 4),
        (0xD3, 8),
    )
    for code, length in scalars:
        heads[code] = _Head(size=length, limit=length)
    heads[0xD4:0xD9] = [None] * 5
    for code, width in ((0xDC, 2), (0xDD, 4)):
        heads[code] = _Head(width=width, per_item=1, limit=MAX_LIST)
    for code, width in ((0xDE, 2), (0xDF, 4)):
        heads[code] = _Head(width=width, per_item=2, limit=MAX_MAP)
    return heads


_HEADS: Final = _heads()
_MAP_CODES: Final = frozenset((*range(0x80, 0x90), 0xDE, 0xDF))


def misshapen(body: bytes | memoryview) -> Misshapen | None:
    """What is wrong with the shape of `body`, which must be one map; None if it may be decoded.

    Takes one step per value, and no more than `MAX_ITEMS` of them.
    """
    if not len(body) or body[0] not in _MAP_CODES:
        return Misshapen("not-a-map", "the body is not a MessagePack map")
    return _walk(body)


def _walk(body: bytes | memoryview) -> Misshapen | None:
    total = len(body)
    open_items: list[int] = []
    at = items = 0
    while True:
        head = _HEADS[body[at]] if at < total else None
        if head is None:
            return _bad_byte(body, at)
        at += 1
        size = int.from_bytes(body[at : at + head.width], "big") if head.width else head.size
        at += head.width
        items += 1
        if at > total or size > head.limit or items > MAX_ITEMS:
            return _over(at > total, size, head.limit)
        if head.per_item and size:
            open_items.append(size * head.per_item)
            if len(open_items) > MAX_DEPTH:
                return Misshapen("too-deep", f"more than {MAX_DEPTH} lists and maps within one another")
            continue
        at += 0 if head.per_item else size
        if _close(open_items):
            return None if at == total else _ends(at, total)


def _close(open_items: list[int]) -> bool:
    """Count one finished value, close what it completes; whether the outermost value is complete."""
    while open_items:
        open_items[-1] -= 1
        if open_items[-1]:
            return False
        open_items.pop()
    return True


def _bad_byte(body: bytes | memoryview, at: int) -> Misshapen:
    if at >= len(body):
        return _ends(at, len(body))
    return Misshapen("malformed", f"byte {at} ({body[at]:#04x}) starts an extension or nothing known")


def _over(cut: bool, size: int, limit: int) -> Misshapen:  # noqa: FBT001  private, one caller
    if cut:
        return Misshapen("malformed", "the body ends within a value")
    if size > limit:
        return Misshapen("too-large", f"a value claims a size of {size}, over {limit}")
    return Misshapen("too-many-items", f"more than {MAX_ITEMS} values")


def _ends(at: int, total: int) -> Misshapen:
    if at > total or at == total:
        return Misshapen("malformed", "the body ends within a value")
    return Misshapen("malformed", f"{total - at} bytes follow the message")

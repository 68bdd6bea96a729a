"""Splits lists that can outgrow a frame, and sums up run ids for a heartbeat."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final, TypeVar

from refloat_common.core.messages import MAX_LIST_ITEMS, NodeFacts, RunEntry

T = TypeVar("T")

MAX_PART_BYTES: Final = 512 * 1024
"""Half a frame: the weights below are estimates."""
MAX_PART_ITEMS: Final = 45_000
"""MessagePack values in a part, under the decoder's limit of 65,536."""


def in_parts(
    entries: Iterable[T],
    weigh: Callable[[T], tuple[int, int]],
    max_entries: int = MAX_LIST_ITEMS,
) -> tuple[tuple[T, ...], ...]:
    """The entries in order, in as few parts as fit their frames; one empty part for none.

    `weigh` gives an entry's bytes and its number of MessagePack values, both rather too high.
    """
    parts: list[tuple[T, ...]] = []
    part: list[T] = []
    part_bytes = part_items = 0
    for entry in entries:
        entry_bytes, items = weigh(entry)
        full = (
            len(part) == max_entries or part_bytes + entry_bytes > MAX_PART_BYTES or part_items + items > MAX_PART_ITEMS
        )
        if part and full:
            parts.append(tuple(part))
            part, part_bytes, part_items = [], 0, 0
        part.append(entry)
        part_bytes += entry_bytes
        part_items += items
    return (*parts, tuple(part))


def text_bytes(text: str) -> int:
    """The most bytes that a text takes on the wire, its length included."""
    return len(text.encode(errors="replace")) + 5


def weigh_run(entry: RunEntry) -> tuple[int, int]:
    """A run in HELLO: four fields with their names."""
    return text_bytes(entry.run) + text_bytes(entry.job) + text_bytes(entry.uid) + 32, 9


def weigh_node(node: NodeFacts) -> tuple[int, int]:
    """A node with its labels, resources and taints."""
    pairs = (*node.labels.items(), *node.allocatable.items())
    size = sum(text_bytes(key) + text_bytes(value) for key, value in pairs)
    taints = sum(
        text_bytes(taint.key) + text_bytes(taint.value) + text_bytes(taint.effect) + 24 for taint in node.taints
    )
    return text_bytes(node.name) + size + taints + 64, 11 + 2 * len(pairs) + 7 * len(node.taints)


def run_digest(run: str) -> int:
    """64 bits of a run id; the digest of a set of runs is the exclusive or of its members', whatever their order."""
    return int.from_bytes(blake2b(run.encode(errors="replace"), digest_size=8).digest(), "big")


def digest_text(digest: int) -> str:
    """The digest as a heartbeat carries it: 16 hexadecimal digits."""
    return f"{digest:016x}"

"""What the two ends ask of whatever carries their frames. ZeroMQ is one such thing, a simulated network another.

A transport may lose, and over several connections repeat and reorder, frames without a word; it never changes one.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from refloat_common.core.link.frames import Channel


class ClientTransport(Protocol):
    """The executor's pair of connections."""

    def send(self, channel: Channel, frame: bytes) -> Awaitable[bool]:
        """Hand over a frame at once; false if it was not taken (nobody is connected, or the queue is full)."""

    def receive(self) -> Awaitable[tuple[Channel, bytes]]:
        """The next frame on either channel. Cancelling loses none."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A frame that the scheduler's end got.

    `peer` names the connection, within its channel; it changes with every connection and is chosen by neither end's
    protocol. `executor` is the id that the connection's key speaks for *now*; None if there is no key (an insecure
    link), empty if the key speaks for nobody any more.
    """

    channel: Channel
    peer: bytes
    executor: str | None
    frame: bytes


class ServerTransport(Protocol):
    """The scheduler's pair of listening sockets."""

    def receive(self) -> Awaitable[Arrival]:
        """The next frame from anybody. Cancelling loses none."""

    def send(self, channel: Channel, peer: bytes, frame: bytes) -> Awaitable[bool]:
        """Hand over a frame at once; false if it was not taken (that peer is gone, or its queue is full)."""


@runtime_checkable
class SelfProbing(Protocol):
    """A `ServerTransport` that can try its own doors: where all executors are silent, the fault may be here."""

    def reachable(self) -> Awaitable[bool]:
        """Whether a client of our own gets through to every public address; at most a few seconds."""

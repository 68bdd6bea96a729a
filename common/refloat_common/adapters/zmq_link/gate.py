"""Answers ZeroMQ's question which keys may connect (ZAP, RFC 27), and tries from outside whether it is asked at all.

A CURVE server without an authenticator lets every key in. `ZAP_ENFORCE_DOMAIN` on the sockets turns that round, so a
dead authenticator keeps everybody out; the probes below notice both.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import anyio
import zmq
import zmq.asyncio
from zmq.auth.asyncio import AsyncioAuthenticator
from zmq.utils.monitor import parse_monitor_message

from refloat_common.adapters.zmq_link.keys import Secret, new_secret
from refloat_common.adapters.zmq_link.options import ZAP_DOMAIN, new_socket

PROBE_S: Final = 5.0
_EVENTS: Final = (
    zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)  # fmt: skip


class LinkNotGuardedError(Exception):
    """The link lets a key in that nobody has listed: it must not stay open."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(f"{endpoint}: a random key was let in")


class Gate:
    """The authenticator of one context. Admits listed keys, and one of its own to be tried with."""

    def __init__(self, context: zmq.asyncio.Context, admits: Callable[[str], bool]) -> None:
        self._context = context
        self._admits = admits
        self._own = new_secret()
        self._own_public = self._own.public()
        self._authenticator: AsyncioAuthenticator | None = None
        self.refused = 0

    def start(self) -> None:
        """Begin to answer; must be done before the sockets are bound."""
        authenticator = AsyncioAuthenticator(self._context)
        authenticator.configure_curve_callback(ZAP_DOMAIN.decode(), self)
        authenticator.start()
        self._authenticator = authenticator

    def stop(self) -> None:
        """Answer no more: from now on nobody gets in."""
        if self._authenticator is not None:
            self._authenticator.stop()
            self._authenticator = None

    def callback(self, _domain: str, key: bytes) -> bool:
        """Whether a key may connect. Called by the authenticator, whose task dies if this raises: it cannot."""
        admitted = key == self._own_public or self._admits(key.decode("ascii", "replace"))
        self.refused += not admitted
        return admitted

    async def admits_strangers(self, endpoint: str, server_public: bytes, within_s: float = PROBE_S) -> bool:
        """Whether a key that was made just now gets in."""
        outcome = await probe(self._context, endpoint, server_public, new_secret(), within_s)
        return outcome is Outcome.ADMITTED

    async def answers(self, endpoint: str, server_public: bytes, within_s: float = PROBE_S) -> bool:
        """Whether the gate's own key gets in: if not, the authenticator is dead."""
        return await probe(self._context, endpoint, server_public, self._own, within_s) is Outcome.ADMITTED


class Outcome(Enum):
    """How a handshake ended."""

    ADMITTED = "admitted"
    REFUSED = "refused"
    NO_ANSWER = "no answer"


async def probe(
    context: zmq.asyncio.Context, endpoint: str, server_public: bytes, key: Secret, within_s: float = PROBE_S
) -> Outcome:
    """Try to connect with a key, and say nothing."""
    socket = new_socket(context, zmq.DEALER, endpoint)
    socket.setsockopt(zmq.CURVE_SERVERKEY, server_public)
    socket.setsockopt(zmq.CURVE_PUBLICKEY, key.public())
    socket.setsockopt(zmq.CURVE_SECRETKEY, key.reveal())
    return await _handshake(socket, endpoint, within_s)


async def plain_probe(endpoint: str) -> Outcome:
    """Try to connect to a link without keys, and say nothing."""
    with zmq.asyncio.Context() as context:
        return await _handshake(new_socket(context, zmq.DEALER, endpoint), endpoint, PROBE_S)


async def _handshake(socket: zmq.asyncio.Socket, endpoint: str, within_s: float) -> Outcome:
    monitor: Any = socket.get_monitor_socket(_EVENTS)
    try:
        socket.connect(_reachable(endpoint))
        with anyio.move_on_after(within_s):
            event = parse_monitor_message(await monitor.recv_multipart())
            admitted = event["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED
            return Outcome.ADMITTED if admitted else Outcome.REFUSED
        return Outcome.NO_ANSWER
    finally:
        socket.disable_monitor()
        monitor.close(linger=0)
        socket.close(linger=0)


def _reachable(endpoint: str) -> str:
    """Where a socket that is bound to every address can be reached from here."""
    return endpoint.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:").replace("//*:", "//127.0.0.1:")

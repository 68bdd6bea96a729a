"""Sets the options that every socket of the link has, and refuses addresses where it would stand open."""

from ipaddress import ip_address
from typing import Final

import zmq
import zmq.asyncio

from refloat_common.core.messages import MAX_FRAME_BYTES

ZAP_DOMAIN: Final = b"refloat"
QUEUE_FRAMES: Final = 64
MAX_PORT: Final = 65535
YIELD_EVERY_FRAMES: Final = 64
"""A receive that finds a frame waiting does not let anybody else run."""

_OPTIONS: Final = (
    (zmq.SNDHWM, QUEUE_FRAMES),
    (zmq.RCVHWM, QUEUE_FRAMES),
    (zmq.LINGER, 0),
    (zmq.MAXMSGSIZE, MAX_FRAME_BYTES),
    (zmq.HEARTBEAT_IVL, 5_000),
    (zmq.HEARTBEAT_TIMEOUT, 15_000),
    (zmq.HANDSHAKE_IVL, 5_000),
    (zmq.RECONNECT_IVL, 500),
    (zmq.RECONNECT_IVL_MAX, 30_000),
)
_ROUTER: Final = ((zmq.ROUTER_MANDATORY, 1), (zmq.ROUTER_HANDOVER, 0))
"""Unknown peers are an error, not silence; a used routing id is never taken over."""
_DEALER: Final = ((zmq.IMMEDIATE, 1),)
"""What nobody is connected to take does not look sent."""


class EndpointRefusedError(ValueError):
    """An address that the link does not use."""

    def __init__(self, endpoint: str, why: str) -> None:
        super().__init__(f"{endpoint!r}: {why}")
        self.endpoint = endpoint


def new_socket(context: zmq.asyncio.Context, kind: int, endpoint: str) -> zmq.asyncio.Socket:
    """A socket of the link, not yet bound or connected."""
    socket = context.socket(kind)
    for option, value in (*_OPTIONS, *(_ROUTER if kind == zmq.ROUTER else _DEALER)):
        socket.setsockopt(option, value)
    if "[" in endpoint:
        socket.setsockopt(zmq.IPV6, 1)
    return socket


def check_endpoint(endpoint: str, *, secure: bool) -> str:
    """The endpoint, if it may be used.

    Raises:
        EndpointRefusedError: not `tcp://HOST:PORT`, or without keys anywhere but on loopback.
    """
    scheme, _, address = endpoint.partition("://")
    host, _, port = address.rpartition(":")
    if scheme != "tcp" or not host or not (port == "*" or (port.isdecimal() and int(port) <= MAX_PORT)):
        raise EndpointRefusedError(endpoint, "the link needs tcp://HOST:PORT")
    if not secure and not _is_loopback(host):
        raise EndpointRefusedError(
            endpoint, "an insecure link is allowed on loopback only; give it keys, or use 127.0.0.1"
        )
    return endpoint


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

"""Decides which addresses the management API may listen on.

The API does not know yet who may do what, so it listens where only this machine can reach it.
"""

import ipaddress
from typing import Annotated

from pydantic import AfterValidator

from refloat_common.core.settings import FileModel

DEFAULT_PORT = 50051
"""Armada's gRPC port."""

_LOOPBACK_NAMES = ("localhost",)


class NotLoopbackError(ValueError):
    """The address can be reached from other machines."""

    def __init__(self) -> None:
        super().__init__(
            f"must be a loopback address such as 127.0.0.1:{DEFAULT_PORT}: the API has no permissions yet, so whoever "
            "reaches it may do everything"
        )


class NoAddressError(ValueError):
    """The text is no address and port."""

    def __init__(self) -> None:
        super().__init__(f"must be an address and a port such as 127.0.0.1:{DEFAULT_PORT}")


def loopback_address(text: str) -> str:
    """The address, if it is one that only this machine reaches; port 0 is any free one.

    Raises:
        NoAddressError: it is no address and port.
        NotLoopbackError: it can be reached from elsewhere.
    """
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or not 0 <= int(port) <= 0xFFFF:  # noqa: PLR2004  ports
        raise NoAddressError
    if host.lower() in _LOOPBACK_NAMES:
        return text
    bracketed = host.startswith("[") and host.endswith("]")
    try:
        address = ipaddress.ip_address(host[1:-1] if bracketed else host)
    except ValueError:
        # A name may mean any machine, and another one tomorrow.
        raise NotLoopbackError from None
    if bracketed != (address.version == 6):  # noqa: PLR2004  IPv6 is written in brackets
        raise NoAddressError
    if not address.is_loopback:
        raise NotLoopbackError
    return text


class GrpcSettings(FileModel):
    """`grpc`: the management API."""

    address: Annotated[str, AfterValidator(loopback_address)] = f"127.0.0.1:{DEFAULT_PORT}"
    """Where it listens; a loopback address. Port 0 takes any free one."""
